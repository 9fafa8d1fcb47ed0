//! Events as they stand in a journal.

use journal::Seq;
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::protobuf::{Struct, Value, value};
use wire::tool_result::Code;
use wire::{
    ApprovalRequest, ApprovalResult, Error, Event, EventKind, ExecutionStart, HarnessEnd, Lifecycle, Mediation,
    Message, ModelCall, ToolCall, ToolResult, Usage,
};

/// Makes the records of the execution with this id; empty: legacy records.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a>(pub(crate) &'a str);

impl Of<'_> {
    pub(crate) fn event(self, kind: EventKind, body: impl Into<Option<Body>>) -> Event {
        Event::new(kind, body).of_execution(self.0)
    }

    pub(crate) fn start(self, count: i64) -> Event {
        self.start_with(ExecutionStart { input_count: Some(count), ..ExecutionStart::default() })
    }

    pub(crate) fn start_with(self, start: ExecutionStart) -> Event {
        self.event(EventKind::EventExecutionStart, Body::ExecutionStart(start))
    }

    pub(crate) fn input(self, text: &str) -> Event {
        self.event(EventKind::EventInput, Body::Message(Message::text("user", text)))
    }

    pub(crate) fn model_call(self, input_hash: &str) -> Event {
        let call = ModelCall { input_hash: input_hash.into(), id: "recorded".into(), ..ModelCall::default() };
        self.event(EventKind::EventModelCall, Body::Model(call))
    }

    pub(crate) fn output(self, text: &str) -> Event {
        self.event(EventKind::EventOutput, Body::Message(Message::text("assistant", text)))
    }

    pub(crate) fn usage(self, tokens: i64) -> Event {
        self.event(EventKind::EventUsage, Body::Usage(usage(tokens)))
    }

    pub(crate) fn tool_call(self, call: ToolCall) -> Event {
        self.event(EventKind::EventToolCall, Body::Tool(call))
    }

    pub(crate) fn tool_result(self, result: ToolResult) -> Event {
        self.event(EventKind::EventToolResult, Body::Result(result))
    }

    pub(crate) fn request(self, call_id: &str) -> Event {
        let request = ApprovalRequest { tool_call_id: call_id.into(), ..ApprovalRequest::default() };
        self.event(EventKind::EventApprovalRequest, Body::Approval(request))
    }

    pub(crate) fn decision(self, call_id: &str, request_seq: i64, approved: bool) -> Event {
        let decision = ApprovalResult { tool_call_id: call_id.into(), approved, request_seq, ..Default::default() };
        self.event(EventKind::EventApprovalResult, Body::ApprovalResult(decision))
    }

    pub(crate) fn end(self) -> Event {
        let end = HarnessEnd { state: "COMPLETED".into(), error: None };
        self.event(EventKind::EventEnd, Body::End(end))
    }

    pub(crate) fn canceled(self) -> Event {
        let end = HarnessEnd { state: HarnessEnd::CANCELED.into(), error: None };
        self.event(EventKind::EventEnd, Body::End(end))
    }

    pub(crate) fn error(self) -> Event {
        let error = Error { code: 0, description: "it broke".into() };
        self.event(EventKind::EventError, Body::Error(error))
    }
}

pub(crate) fn lifecycle(kind: Kind) -> Event {
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(Lifecycle { kind: kind.into(), ..Lifecycle::default() }))
}

pub(crate) fn fork() -> Event {
    lifecycle(Kind::LifecycleFork)
}

pub(crate) fn usage(tokens: i64) -> Usage {
    Usage { model: "m".into(), input_tokens: tokens, ..Usage::default() }
}

/// A call that the host runs, with the key `key-<id>`.
pub(crate) fn mediated(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        tool: "search".into(),
        args: Some(args(id)),
        mediation: Mediation::ControllerMediated.into(),
        idempotency_key: format!("key-{id}"),
    }
}

/// A call that needs an approval.
pub(crate) fn gated(id: &str) -> ToolCall {
    ToolCall { mediation: Mediation::RequiresApproval.into(), ..mediated(id) }
}

pub(crate) fn result(id: &str) -> ToolResult {
    ToolResult { id: id.into(), output: Some(args(id)), ..ToolResult::default() }
}

/// The receipt of an approved call that went well.
pub(crate) fn receipt(id: &str, request_seq: i64, decision_seq: i64) -> ToolResult {
    ToolResult { approval_request_seq: request_seq, approval_decision_seq: decision_seq, ..result(id) }
}

/// The receipt of a denied call.
pub(crate) fn denial(id: &str, request_seq: i64, decision_seq: i64) -> ToolResult {
    let error = "Tool execution denied by approval decision.";
    ToolResult {
        output: None,
        is_error: true,
        error: error.into(),
        content: vec![wire::Part::text(error)],
        code: Code::ApprovalDenied.into(),
        ..receipt(id, request_seq, decision_seq)
    }
}

pub(crate) fn args(text: &str) -> Struct {
    let value = Value { kind: Some(value::Kind::StringValue(text.into())) };
    Struct { fields: [("of".to_owned(), value)].into() }
}

pub(crate) fn seq(number: u64) -> Seq {
    Seq::ZERO.plus(usize::try_from(number).unwrap())
}
