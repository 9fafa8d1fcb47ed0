//! Which events a harness may send (execution.md §6.1).

use wire::event::Body;
use wire::{Event, EventKind};

use super::{Step, Turn, TurnFailure};

impl Turn {
    pub(super) fn event(&mut self, event: Event, fresh_id: String) -> Step {
        if event.execution_id != self.execution.as_str() {
            return Err(TurnFailure::Violation("it sent an event of another execution"));
        }
        match (event.kind(), event.body) {
            (EventKind::EventModelCall, Some(Body::Model(call))) => self.model(call, fresh_id),
            (EventKind::EventModelCall, _) => Err(TurnFailure::Violation("it sent a MODEL_CALL without payload")),
            (EventKind::EventToolCall, Some(Body::Tool(call))) => self.tool(call),
            (EventKind::EventToolCall, _) => Err(TurnFailure::Violation("it sent a TOOL_CALL without payload")),
            (EventKind::EventOutput, Some(Body::Message(message))) => self.output(&message),
            (EventKind::EventToolResult, Some(Body::Result(result))) => self.report(result),
            (EventKind::EventUsage, Some(Body::Usage(usage))) => self.usage(usage),
            (EventKind::EventEnd, body) => self.harness_end(body),
            (EventKind::EventApprovalRequest | EventKind::EventApprovalResult, _) => {
                Err(TurnFailure::Violation("it sent an approval record"))
            }
            (EventKind::EventExecutionStart, _) => Err(TurnFailure::Violation("it sent an EXECUTION_START")),
            // Those of an invocation never come here: the host takes them.
            (EventKind::EventStream | EventKind::EventReturn, _) => {
                Err(TurnFailure::Violation("it sent what belongs to an invocation, and this turn is none"))
            }
            (EventKind::EventParked, _) => Err(TurnFailure::Violation("it sent PARKED and was not told to park")),
            // What a host ignores: kinds that only a host records, kinds it does not know, and missing payloads.
            _ => Ok(self.read()),
        }
    }
}
