//! A host that breaks the protocol fails the turn, whatever the harness makes of it.

use futures::FutureExt;
use sdk::{SinkError, Violation};
use wire::controller_frame::Frame;
use wire::tool_result::Code;
use wire::{ApprovalRef, ApprovalResult, ControllerFrame, EventKind, ModelResult, Start, ToolResult};

use super::actors::{Acting, Host, answer, call, decision, envelope, park, question, receipt, result};

#[derive(Clone, Copy)]
enum Effect {
    Model,
    Tool,
    Gated,
}

/// Asks for one effect and ignores what comes of it.
fn ask(effect: Effect, sink: &mut sdk::Sink) -> Acting<'_> {
    Box::pin(async move {
        match effect {
            Effect::Model => drop(sink.model(question()).await),
            Effect::Tool => drop(sink.tool(call()).await),
            Effect::Gated => drop(sink.gated(call()).await),
        }
        Ok(())
    })
}

async fn expect_violation(effect: Effect, frames: Vec<ControllerFrame>, violation: &Violation) {
    let mut host = Host::running(move |_, sink| ask(effect, sink));
    host.event().await.expect("the request");
    for frame in frames {
        host.run.deliver(frame);
    }
    assert_eq!(host.expect_failed().await, violation.to_string());
}

#[tokio::test]
async fn answers_to_another_call_fail_the_turn() {
    let no_message = Frame::Model(ModelResult { model_call_id: "m1".into(), ..ModelResult::default() });
    let other_decision = ApprovalResult { tool_call_id: "c2".into(), ..decision(true) };
    let cases = [
        (Effect::Model, answer("m2"), Violation::OtherCall("model")),
        (Effect::Model, no_message, Violation::NoMessage),
        (Effect::Model, Frame::Tool(result("m1")), Violation::Unexpected("tool")),
        (Effect::Tool, Frame::Tool(result("c2")), Violation::OtherCall("tool")),
        (Effect::Tool, answer("c1"), Violation::Unexpected("model")),
        (Effect::Tool, Frame::Park(park()), Violation::Unexpected("park")),
        (Effect::Gated, Frame::Tool(receipt()), Violation::Unexpected("tool")),
        (Effect::Gated, Frame::Approval(other_decision), Violation::OtherCall("approval")),
        (Effect::Gated, Frame::Start(Start::default()), Violation::Unexpected("start")),
    ];
    for (effect, frame, violation) in cases {
        expect_violation(effect, vec![envelope(frame)], &violation).await;
    }
}

#[tokio::test]
async fn park_of_anything_but_this_gate_fails_the_turn() {
    let cases = [
        (ApprovalRef { execution_id: "e2".into(), ..park() }, Violation::OtherExecution("park")),
        (ApprovalRef { tool_call_id: "c2".into(), ..park() }, Violation::OtherCall("park")),
        (ApprovalRef { request_seq: 0, ..park() }, Violation::OtherRequest("park")),
    ];
    for (request, violation) in cases {
        expect_violation(Effect::Gated, vec![envelope(Frame::Park(request))], &violation).await;
    }
}

#[tokio::test]
async fn receipt_that_does_not_follow_from_the_decision_fails_the_turn() {
    let unnumbered = ApprovalResult { request_seq: 0, ..decision(true) };
    let error = |code: Code| ToolResult { is_error: true, code: code as i32, ..receipt() };
    let contradiction = Violation::Contradiction;
    let cases = [
        (unnumbered, receipt(), Violation::OtherRequest("approval")),
        (decision(true), ToolResult { approval_request_seq: 3, ..receipt() }, Violation::OtherRequest("tool")),
        (decision(true), ToolResult { id: "c2".into(), ..receipt() }, Violation::OtherCall("tool")),
        (decision(true), ToolResult { code: 2, ..receipt() }, contradiction.clone()),
        (decision(true), error(Code::ApprovalDenied), contradiction.clone()),
        (decision(true), error(Code::Unspecified), contradiction.clone()),
        (decision(false), receipt(), contradiction.clone()),
        (decision(false), error(Code::ExecutorError), contradiction),
    ];
    for (decision, receipt, violation) in cases {
        let frames = vec![envelope(Frame::Approval(decision)), envelope(Frame::Tool(receipt))];
        expect_violation(Effect::Gated, frames, &violation).await;
    }
}

#[tokio::test]
async fn frames_of_another_execution_or_session_fail_the_turn() {
    let execution = |frame| ControllerFrame { execution_id: "e2".into(), ..envelope(frame) };
    let session = |frame| ControllerFrame { session: "sess-2".into(), ..envelope(frame) };
    let cases = [
        (Effect::Model, execution(answer("m1")), Violation::OtherExecution("model")),
        (Effect::Model, execution(Frame::Cancel(wire::Cancel::default())), Violation::OtherExecution("cancel")),
        (Effect::Tool, session(Frame::Tool(result("c1"))), Violation::OtherSession("tool")),
        (Effect::Gated, session(Frame::Approval(decision(true))), Violation::OtherSession("approval")),
        (Effect::Gated, session(Frame::Park(park())), Violation::OtherSession("park")),
    ];
    for (effect, frame, violation) in cases {
        expect_violation(effect, vec![frame], &violation).await;
    }
}

#[tokio::test]
async fn more_frames_than_any_effect_has_fail_the_turn() {
    let frames = vec![envelope(answer("m1")); 3];
    expect_violation(Effect::Model, frames, &Violation::Unexpected("model")).await;
}

#[tokio::test]
async fn second_answer_fails_the_next_effect() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            sink.model(question()).await?;
            sink.model(question()).await?;
            Ok(())
        })
    });
    host.expect(EventKind::EventModelCall).await;
    host.send(answer("m1"));
    host.send(answer("m1"));
    assert_eq!(host.expect_failed().await, Violation::Unexpected("model").to_string());
}

#[tokio::test]
async fn effect_after_an_abandoned_one_is_refused() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            assert!(sink.model(question()).now_or_never().is_none());
            assert_eq!(sink.model(question()).await, Err(SinkError::Abandoned));
            Ok(())
        })
    });
    host.expect(EventKind::EventModelCall).await;
    assert_eq!(host.expect_failed().await, SinkError::Abandoned.to_string());
}
