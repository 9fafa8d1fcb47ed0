//! Calls that need an approval (execution.md §9.1, §9.6).

use std::collections::VecDeque;

use journal::Seq;
use wire::event::Body;
use wire::tool_result::Code;
use wire::{ApprovalRequest, ApprovalResult, Event, EventKind, Part, Resumability, ToolCall, ToolResult};

use super::matching::mismatch;
use super::tool::{recorded_call, recorded_result};
use super::{Action, Asked, Effect, Input, State, Step, Then, Turn, TurnFailure, unexpected};
use crate::ports::HostFrame;

/// What a denied call is answered with.
const DENIED: &str = "Tool execution denied by approval decision.";

/// A recorded decision that its call is to be carried out by.
#[derive(Debug)]
pub(super) struct Decided {
    request: Seq,
    seq: Seq,
    decision: ApprovalResult,
}

impl Turn {
    /// The harness asks for a call that needs an approval.
    pub(super) fn gated(&mut self, call: ToolCall) -> Step {
        let event = self.record(EventKind::EventToolCall, Body::Tool(call));
        let call = recorded_call(&event);
        match self.next(Asked::Gate)? {
            None => {
                self.check_gate(&call)?;
                Ok(self.open_gate(event, call.id))
            }
            Some(Effect::ToolCall(recorded)) if recorded == call => self.recorded_gate(call),
            Some(other) => Err(mismatch(Asked::Gate, matches!(other, Effect::ToolCall(_)))),
        }
    }

    /// Records call and request in one append: this host never leaves a call without its request.
    fn open_gate(&mut self, call: Event, tool_call_id: String) -> Action {
        let request = ApprovalRequest { tool_call_id: tool_call_id.clone(), reason: String::new() };
        let request = self.record(EventKind::EventApprovalRequest, Body::Approval(request));
        self.append(vec![call, request], Then::Park { tool_call_id })
    }

    /// May this call open a gate?
    fn check_gate(&self, call: &ToolCall) -> Result<(), TurnFailure> {
        if self.resumability == Resumability::RequiresMemorySnapshot {
            Err(TurnFailure::ApprovalUnavailable)
        } else if call.id.is_empty() {
            Err(TurnFailure::InvalidApprovalCall("it has no id"))
        } else if self.calls.contains_key(&call.id) {
            Err(TurnFailure::InvalidApprovalCall("its id is that of another call of this turn"))
        } else if call.idempotency_key.is_empty() {
            Err(TurnFailure::MissingIdempotencyKey)
        } else {
            Ok(())
        }
    }

    /// Serves the receipt of a recorded gate, or carries out its decision.
    fn recorded_gate(&mut self, call: ToolCall) -> Step {
        self.calls.insert(call.id.clone(), true);
        let (request, (seq, decision)) = match (self.next(Asked::Gate)?, self.next(Asked::Gate)?) {
            (Some(Effect::ApprovalRequest { seq: request }), Some(Effect::ApprovalResult { seq, decision })) => {
                (request, (seq, decision))
            }
            // An undecided gate is never run again.
            _ => return Err(mismatch(Asked::Gate, false)),
        };
        let decided = Decided { request, seq, decision };
        match self.next(Asked::Gate)? {
            Some(Effect::ToolResult(receipt)) if receipt.id == call.id => Ok(self.send(replies(decided, receipt))),
            Some(other) => Err(mismatch(Asked::Gate, matches!(other, Effect::ToolResult(_)))),
            None if decided.decision.approved => {
                self.state = State::ExecutingApproved { call_id: call.id.clone(), decided };
                Ok(Action::CallTool(call))
            }
            None => Ok(self.record_receipt(call.id, decided, denied())),
        }
    }

    /// The executor has answered an approved call, or cannot.
    pub(super) fn executed_approved(&mut self, call_id: String, decided: Decided, outcome: Input) -> Step {
        let result = match outcome {
            Input::ToolAnswered(result) if result.is_error => ToolResult { code: Code::ExecutorError.into(), ..result },
            Input::ToolAnswered(result) => ToolResult { code: Code::Unspecified.into(), ..result },
            // It happened to the tool, not to the turn: the harness is told and goes on.
            Input::ToolFailed(error) => {
                ToolResult { is_error: true, error, code: Code::ExecutorError.into(), ..ToolResult::default() }
            }
            Input::NoToolExecutor(tool) => return Err(TurnFailure::NoExecutorForApproved(tool)),
            other => return Err(unexpected(other)),
        };
        Ok(self.record_receipt(call_id, decided, result))
    }

    fn record_receipt(&mut self, call_id: String, decided: Decided, result: ToolResult) -> Action {
        let receipt = ToolResult {
            id: call_id,
            approval_request_seq: decided.request.to_wire(),
            approval_decision_seq: decided.seq.to_wire(),
            ..result
        };
        let event = self.record(EventKind::EventToolResult, Body::Result(receipt));
        let replies = replies(decided, recorded_result(&event));
        self.append(vec![event], Then::Reply(replies))
    }
}

fn replies(decided: Decided, receipt: ToolResult) -> VecDeque<HostFrame> {
    [HostFrame::Approval(decided.decision), HostFrame::Tool(receipt)].into()
}

/// The receipt of a denied call, but for what it names.
pub(crate) fn denied() -> ToolResult {
    failed(DENIED, Code::ApprovalDenied)
}

/// The receipt of a call that came to nothing, but for what it names.
pub(crate) fn failed(text: &str, code: Code) -> ToolResult {
    ToolResult {
        is_error: true,
        error: text.into(),
        content: vec![Part::text(text)],
        code: code.into(),
        ..ToolResult::default()
    }
}
