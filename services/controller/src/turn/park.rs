//! Parking at an undecided gate (execution.md §9.2).

use journal::Seq;
use wire::event::Body;
use wire::{ApprovalRef, Event, EventKind};

use super::{Action, Input, State, Step, Turn, TurnEnd, TurnFailure, unexpected};
use crate::ports::HostFrame;

impl Turn {
    /// Tells the harness to park: the gate is recorded, and from here on the turn appends nothing.
    pub(super) fn park(&mut self, tool_call_id: String, request: Seq) -> Action {
        self.sealed = true;
        let execution_id = self.execution.as_str().to_owned();
        let reference = ApprovalRef { execution_id, tool_call_id, request_seq: request.to_wire() };
        self.state = State::Parking(reference.clone());
        Action::Send(HostFrame::Park(reference))
    }

    pub(super) fn parking(&mut self, reference: ApprovalRef) -> Action {
        self.state = State::Parking(reference);
        Action::ReadParked
    }

    /// The harness must answer with the same tuple.
    pub(super) fn parked(&mut self, reference: ApprovalRef, outcome: Input) -> Step {
        match outcome {
            Input::Event { event, .. } if self.acknowledges(&event, &reference) => {
                self.state = State::Parked(reference);
                Ok(Action::ReadParked)
            }
            Input::Event { .. } => Err(TurnFailure::ParkFailed("it answered with something else than PARKED")),
            Input::Closed => Err(TurnFailure::ParkFailed("it ended its stream without PARKED")),
            other => Err(unexpected(other)),
        }
    }

    fn acknowledges(&self, event: &Event, reference: &ApprovalRef) -> bool {
        event.kind() == EventKind::EventParked
            && event.execution_id == self.execution.as_str()
            && matches!(&event.body, Some(Body::Parked(answer)) if answer == reference)
    }
}

/// After PARKED the harness must end its stream.
pub(super) fn closed(reference: ApprovalRef, outcome: Input) -> Step {
    match outcome {
        Input::Closed => Ok(Action::Finish(TurnEnd::Parked(reference))),
        Input::Event { .. } => Err(TurnFailure::ParkFailed("it went on after PARKED")),
        other => Err(unexpected(other)),
    }
}
