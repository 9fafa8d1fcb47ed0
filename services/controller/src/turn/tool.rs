//! Tool calls (execution.md §5.3): which are refused, and those that the host runs for the harness.

use std::collections::VecDeque;

use wire::event::Body;
use wire::{Event, EventKind, Mediation, ToolCall, ToolResult};

use super::matching::{diverged, is_gated, mismatch};
use super::{Action, Asked, Divergence, Effect, Input, State, Step, Then, Turn, TurnFailure, unexpected};
use crate::ports::HostFrame;

impl Turn {
    /// The harness asks for a tool call.
    pub(super) fn tool(&mut self, call: ToolCall) -> Step {
        match call.mediation() {
            Mediation::ControllerMediated => self.mediated(call),
            Mediation::RequiresApproval if !self.is_legacy() => self.gated(call),
            Mediation::RequiresApproval => {
                let rule = "the turn is from before approvals had execution ids";
                Err(self.refuse(&call, TurnFailure::InvalidApprovalCall(rule)))
            }
            refused @ (Mediation::Unspecified | Mediation::InHarnessReported) => {
                Err(self.refuse(&call, TurnFailure::RefusedMediation(refused.as_str_name())))
            }
        }
    }

    fn mediated(&mut self, call: ToolCall) -> Step {
        if call.idempotency_key.is_empty() {
            return Err(self.missing_key(&call));
        }
        if self.is_gated_id(&call.id) {
            return Err(TurnFailure::InvalidApprovalCall("its id is that of a gated call of this turn"));
        }
        let event = self.record(EventKind::EventToolCall, Body::Tool(call));
        let call = recorded_call(&event);
        self.calls.insert(call.id.clone(), false);
        match self.next(Asked::Tool)? {
            None => Ok(self.append(vec![event], Then::CallTool(call))),
            Some(Effect::ToolCall(recorded)) if recorded == call => self.recorded_tool(call),
            Some(other) => Err(mismatch(Asked::Tool, matches!(other, Effect::ToolCall(_)))),
        }
    }

    fn missing_key(&self, call: &ToolCall) -> TurnFailure {
        match self.recorded.front() {
            Some(Effect::ToolCall(recorded)) if is_gated(recorded) && recorded.id == call.id => {
                diverged(Divergence::Content(Asked::Tool))
            }
            _ => TurnFailure::MissingIdempotencyKey,
        }
    }

    /// Serves the result of a recorded call.
    fn recorded_tool(&mut self, call: ToolCall) -> Step {
        if self.was_cut_here() {
            return Ok(self.call_tool(call));
        }
        match self.recorded.pop_front() {
            Some(Effect::ToolResult(result)) if result.id == call.id => Ok(self.send(reply(result))),
            Some(Effect::ToolResult(_)) => Err(diverged(Divergence::Content(Asked::Tool))),
            _ => Err(TurnFailure::ResultMissing),
        }
    }

    pub(super) fn call_tool(&mut self, call: ToolCall) -> Action {
        self.state = State::Executing { call_id: call.id.clone() };
        Action::CallTool(call)
    }

    /// The executor has answered, or cannot.
    pub(super) fn executed(&mut self, call_id: String, outcome: Input) -> Step {
        match outcome {
            Input::ToolAnswered(result) => Ok(self.record_result(ToolResult { id: call_id, ..result })),
            Input::ToolFailed(text) => Err(TurnFailure::Tool(text)),
            Input::NoToolExecutor(tool) => Err(TurnFailure::NoToolExecutor(tool)),
            other => Err(unexpected(other)),
        }
    }

    fn record_result(&mut self, result: ToolResult) -> Action {
        let event = self.record(EventKind::EventToolResult, Body::Result(result));
        let reply = reply(recorded_result(&event));
        self.append(vec![event], Then::Reply(reply))
    }

    /// Whether a gated call of this turn has this id.
    pub(super) fn is_gated_id(&self, id: &str) -> bool {
        self.calls.get(id) == Some(&true)
    }
}

fn reply(result: ToolResult) -> VecDeque<HostFrame> {
    [HostFrame::Tool(result)].into()
}

/// The call in a TOOL_CALL made by [`Turn::record`].
pub(super) fn recorded_call(event: &Event) -> ToolCall {
    match &event.body {
        Some(Body::Tool(call)) => call.clone(),
        _ => ToolCall::default(),
    }
}

/// The result in a TOOL_RESULT made by [`Turn::record`].
pub(super) fn recorded_result(event: &Event) -> ToolResult {
    match &event.body {
        Some(Body::Result(result)) => result.clone(),
        _ => ToolResult::default(),
    }
}
