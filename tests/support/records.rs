//! What stands in journals: the events of turns, as a host writes them.

use wire::event::Body;
use wire::lifecycle::Kind;
use wire::tool_result::Code;
use wire::{
    ApprovalRequest, ApprovalResult, Error, Event, EventKind, ExecutionStart, HarnessEnd, Lifecycle, Mediation,
    Message, ModelCall, Part, ToolCall, ToolResult, Usage,
};

use crate::TOOL;

/// Makes the events of the execution with this id; empty: events from before executions had ids.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a>(pub &'a str);

impl Of<'_> {
    /// Any event.
    #[must_use]
    pub fn event(self, kind: EventKind, body: impl Into<Option<Body>>) -> Event {
        Event::new(kind, body).of_execution(self.0)
    }

    /// START of a turn with so many inputs.
    #[must_use]
    pub fn start(self, inputs: i64) -> Event {
        self.start_with(ExecutionStart { input_count: Some(inputs), ..ExecutionStart::default() })
    }

    /// Any START.
    #[must_use]
    pub fn start_with(self, start: ExecutionStart) -> Event {
        self.event(EventKind::EventExecutionStart, Body::ExecutionStart(start))
    }

    /// INPUT.
    #[must_use]
    pub fn input(self, text: &str) -> Event {
        self.event(EventKind::EventInput, Body::Message(Message::text("user", text)))
    }

    /// MODEL_CALL of a request.
    #[must_use]
    pub fn model_call(self, request: &ModelCall) -> Event {
        let input_hash = wire::input_hash(request).expect("the request has a canonical form");
        let recorded =
            ModelCall { input_hash, model: request.model.clone(), id: "recorded".into(), ..Default::default() };
        self.event(EventKind::EventModelCall, Body::Model(recorded))
    }

    /// OUTPUT.
    #[must_use]
    pub fn output(self, text: &str) -> Event {
        self.event(EventKind::EventOutput, Body::Message(Message::text("assistant", text)))
    }

    /// USAGE.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Event {
        self.event(EventKind::EventUsage, Body::Usage(usage))
    }

    /// TOOL_CALL.
    #[must_use]
    pub fn call(self, call: ToolCall) -> Event {
        self.event(EventKind::EventToolCall, Body::Tool(call))
    }

    /// TOOL_RESULT.
    #[must_use]
    pub fn result(self, result: ToolResult) -> Event {
        self.event(EventKind::EventToolResult, Body::Result(result))
    }

    /// APPROVAL_REQUEST.
    #[must_use]
    pub fn request(self, call: &str) -> Event {
        let request = ApprovalRequest { tool_call_id: call.into(), reason: String::new() };
        self.event(EventKind::EventApprovalRequest, Body::Approval(request))
    }

    /// APPROVAL_RESULT.
    #[must_use]
    pub fn decision(self, call: &str, request_seq: i64, approved: bool) -> Event {
        let decision = ApprovalResult { tool_call_id: call.into(), approved, request_seq, reason: String::new() };
        self.event(EventKind::EventApprovalResult, Body::ApprovalResult(decision))
    }

    /// END.
    #[must_use]
    pub fn end(self) -> Event {
        self.event(EventKind::EventEnd, Body::End(HarnessEnd { state: "COMPLETED".into(), error: None }))
    }

    /// ERROR.
    #[must_use]
    pub fn error(self) -> Event {
        self.event(EventKind::EventError, Body::Error(Error { code: 0, description: "it broke".into() }))
    }
}

/// A LIFECYCLE marker.
#[must_use]
pub fn marker(kind: Kind) -> Event {
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(Lifecycle { kind: kind.into(), ..Lifecycle::default() }))
}

/// A model request.
#[must_use]
pub fn question(text: &str) -> ModelCall {
    ModelCall { id: "asked".into(), messages: vec![Message::text("user", text)], ..ModelCall::default() }
}

/// A call of [`TOOL`] that the host runs.
#[must_use]
pub fn mediated(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        tool: TOOL.into(),
        args: None,
        mediation: Mediation::ControllerMediated.into(),
        idempotency_key: format!("key-{id}"),
    }
}

/// A call of [`TOOL`] that needs an approval.
#[must_use]
pub fn gated(id: &str) -> ToolCall {
    ToolCall { mediation: Mediation::RequiresApproval.into(), ..mediated(id) }
}

/// A result.
#[must_use]
pub fn result(id: &str) -> ToolResult {
    ToolResult { id: id.into(), content: vec![Part::text("done")], ..ToolResult::default() }
}

/// The receipt of an approved call that went well.
#[must_use]
pub fn receipt(id: &str, request_seq: i64, decision_seq: i64) -> ToolResult {
    ToolResult { approval_request_seq: request_seq, approval_decision_seq: decision_seq, ..result(id) }
}

/// The receipt of a denied call.
#[must_use]
pub fn denial(id: &str, request_seq: i64, decision_seq: i64) -> ToolResult {
    let denied = "Tool execution denied by approval decision.";
    ToolResult {
        is_error: true,
        error: denied.into(),
        content: vec![Part::text(denied)],
        code: Code::ApprovalDenied.into(),
        ..receipt(id, request_seq, decision_seq)
    }
}

/// Usage of so many tokens.
#[must_use]
pub fn usage(input_tokens: i64) -> Usage {
    Usage { model: "m".into(), input_tokens, ..Usage::default() }
}
