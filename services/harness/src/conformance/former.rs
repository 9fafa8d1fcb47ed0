//! A session's past, with every kind of record that a journal holds.

use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{
    ApprovalRequest, ApprovalResult, Error, Event, EventKind, ExecutionStart, HarnessEnd, Lifecycle, Mediation,
    Message, ModelCall, ToolCall, ToolResult, Usage,
};

/// Bytes of one record that fills a history.
const FILLING: usize = 64 << 10;

/// One turn with everything in it, and as much output as makes `bytes`.
pub(super) fn history(bytes: usize) -> Vec<Event> {
    let fillings = (0..bytes.div_ceil(FILLING)).map(|_| said(&"x".repeat(FILLING)));
    let turn = before().into_iter().chain(fillings).chain(after());
    turn.map(|body| Event::new(kind(&body), body).of_execution("conformance-former")).collect()
}

fn before() -> Vec<Body> {
    let start = ExecutionStart { input_count: Some(1), harness: "conformance".into(), ..ExecutionStart::default() };
    vec![Body::ExecutionStart(start), Body::Message(Message::text("user", "earlier"))]
}

fn after() -> Vec<Body> {
    let tool = ToolCall {
        id: "former".into(),
        tool: "any".into(),
        mediation: Mediation::RequiresApproval.into(),
        idempotency_key: "former".into(),
        ..ToolCall::default()
    };
    let receipt =
        ToolResult { id: "former".into(), approval_request_seq: 6, approval_decision_seq: 8, ..ToolResult::default() };
    vec![
        Body::Model(ModelCall { model: "any".into(), ..ModelCall::default() }),
        said("answered"),
        Body::Tool(tool),
        Body::Approval(ApprovalRequest { tool_call_id: "former".into(), reason: String::new() }),
        Body::Lifecycle(Lifecycle { kind: Kind::LifecycleSuspend.into(), ..Lifecycle::default() }),
        Body::ApprovalResult(ApprovalResult {
            tool_call_id: "former".into(),
            approved: true,
            request_seq: 6,
            ..Default::default()
        }),
        Body::Result(receipt),
        Body::Usage(Usage { model: "any".into(), input_tokens: 1, ..Usage::default() }),
        Body::Error(Error { code: 0, description: "interrupted".into() }),
        Body::End(HarnessEnd { state: "COMPLETED".into(), error: None }),
    ]
}

fn said(text: &str) -> Body {
    Body::Message(Message::text("assistant", text))
}

fn kind(body: &Body) -> EventKind {
    match body {
        Body::Message(message) if message.role == "user" => EventKind::EventInput,
        Body::Message(_) => EventKind::EventOutput,
        Body::Model(_) => EventKind::EventModelCall,
        Body::Tool(_) => EventKind::EventToolCall,
        Body::Result(_) => EventKind::EventToolResult,
        Body::Approval(_) => EventKind::EventApprovalRequest,
        Body::ApprovalResult(_) => EventKind::EventApprovalResult,
        Body::Usage(_) => EventKind::EventUsage,
        Body::Lifecycle(_) => EventKind::EventLifecycle,
        Body::End(_) => EventKind::EventEnd,
        Body::Error(_) => EventKind::EventError,
        Body::ExecutionStart(_) => EventKind::EventExecutionStart,
        Body::Parked(_) => EventKind::EventParked,
        Body::Stream(_) => EventKind::EventStream,
        Body::Returned(_) => EventKind::EventReturn,
    }
}
