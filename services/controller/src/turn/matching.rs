//! The cursor over recorded effects (execution.md §7.1).
//!
//! A divergence fails the turn at once, so that nothing live can follow it.

use wire::{Mediation, ToolCall, ToolResult};

use super::{Asked, Divergence, Effect, Mode, Turn, TurnFailure};

impl Turn {
    /// Takes the next recorded effect; `None` means that what the harness asks for is live.
    pub(super) fn next(&mut self, asked: Asked) -> Result<Option<Effect>, TurnFailure> {
        match self.recorded.pop_front() {
            None if self.mode == Mode::Replay => Err(diverged(Divergence::Exhausted(asked))),
            next => Ok(next),
        }
    }

    /// Whether the end of the recorded effects is where the turn was cut, so that an effect without its result is run
    /// again, once (invariant I3).
    pub(super) fn was_cut_here(&self) -> bool {
        self.mode == Mode::Recover && self.recorded.is_empty()
    }

    /// The failure of a call that is refused live too, unless a call is recorded that it would have to equal.
    pub(super) fn refuse(&self, call: &ToolCall, failure: TurnFailure) -> TurnFailure {
        match self.recorded.front() {
            Some(Effect::ToolCall(recorded)) if is_gated(recorded) || recorded.id == call.id => {
                diverged(Divergence::Content(Asked::Tool))
            }
            _ => failure,
        }
    }
}

/// The failure of a turn that does not match its record.
pub(super) fn diverged(divergence: Divergence) -> TurnFailure {
    TurnFailure::Diverged(divergence)
}

/// The failure of a turn whose record has something else at this place.
pub(super) fn mismatch(asked: Asked, same_kind: bool) -> TurnFailure {
    diverged(if same_kind { Divergence::Content(asked) } else { Divergence::Kind(asked) })
}

/// Whether a call needs an approval.
pub(super) fn is_gated(call: &ToolCall) -> bool {
    call.mediation() == Mediation::RequiresApproval
}

/// Whether a result answers a gated call.
pub(super) fn is_receipt(result: &ToolResult) -> bool {
    result.approval_request_seq != 0 || result.approval_decision_seq != 0
}
