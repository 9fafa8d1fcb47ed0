//! Calls that need approval.

use std::sync::Arc;

use sdk::{Refusal, SinkError};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::tool_result::Code;
use wire::{EventKind, Mediation, ToolCall, ToolResult};

use super::actors::{DropFlag, Host, call, decision, park, receipt, result};

#[tokio::test]
async fn park_is_acknowledged_once_and_stops_the_run_without_an_end() {
    let stopped = Arc::new(DropFlag::default());
    let flag = Arc::clone(&stopped);
    let mut host = Host::running(move |_, sink| {
        let guard = flag.guard();
        Box::pin(async move {
            sink.gated(call()).await?;
            drop(guard);
            panic!("a parked call returned");
        })
    });
    let Body::Tool(sent) = host.expect(EventKind::EventToolCall).await else { panic!("no call") };
    assert_eq!(sent.mediation(), Mediation::RequiresApproval);
    assert!(!stopped.is_dropped());
    host.send(Frame::Park(park()));
    assert_eq!(host.expect(EventKind::EventParked).await, Body::Parked(park()));
    assert!(stopped.is_dropped());
    assert_eq!(host.event().await, None);
}

#[tokio::test]
async fn approved_call_returns_the_result_of_the_tool() {
    let failed = ToolResult { is_error: true, code: Code::ExecutorError as i32, ..receipt() };
    for receipt in [receipt(), failed] {
        let expected = receipt.clone();
        let mut host = Host::running(move |_, sink| {
            let expected = expected.clone();
            Box::pin(async move {
                let decided = sink.gated(call()).await?;
                assert_eq!((decided.approved, decided.reason.as_str()), (true, "so"));
                assert_eq!(decided.result, expected);
                Ok(())
            })
        });
        host.expect(EventKind::EventToolCall).await;
        host.send(Frame::Approval(decision(true)));
        host.send(Frame::Tool(receipt));
        host.expect_completed().await;
    }
}

#[tokio::test]
async fn denied_call_returns_the_receipt_of_the_denial() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            let decided = sink.gated(call()).await?;
            assert!(!decided.approved && decided.result.is_error);
            Ok(())
        })
    });
    host.expect(EventKind::EventToolCall).await;
    host.send(Frame::Approval(decision(false)));
    host.send(Frame::Tool(ToolResult { is_error: true, code: Code::ApprovalDenied as i32, ..receipt() }));
    host.expect_completed().await;
}

#[tokio::test]
async fn what_every_host_refuses_is_not_even_sent() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            let keyless = ToolCall { idempotency_key: String::new(), ..call() };
            let nameless = ToolCall { id: String::new(), ..call() };
            assert_eq!(sink.tool(keyless.clone()).await, Err(SinkError::Refused(Refusal::NoIdempotencyKey)));
            assert_eq!(sink.gated(keyless).await, Err(SinkError::Refused(Refusal::NoIdempotencyKey)));
            assert_eq!(sink.gated(nameless).await, Err(SinkError::Refused(Refusal::NoCallId)));
            for forged in [
                ToolResult { code: Code::ApprovalDenied as i32, ..result("c") },
                ToolResult { approval_request_seq: 1, ..result("c") },
                ToolResult { approval_decision_seq: 1, ..result("c") },
            ] {
                assert_eq!(sink.report(forged).await, Err(SinkError::Refused(Refusal::ReportedReceipt)));
            }
            Ok(())
        })
    });
    host.expect_completed().await;
}
