//! Results of tools that the harness ran itself (execution.md §5.3, IN_HARNESS_REPORTED).

use wire::event::Body;
use wire::tool_result::Code;
use wire::{EventKind, ToolResult};

use super::matching::{diverged, is_receipt, mismatch};
use super::{Asked, Divergence, Effect, Step, Then, Turn, TurnFailure};

impl Turn {
    /// The harness reports a result: it is recorded as it came. No reply. A recorded one is not compared.
    pub(super) fn report(&mut self, result: ToolResult) -> Step {
        if result.code() == Code::ApprovalDenied || is_receipt(&result) {
            return Err(TurnFailure::ApprovalReceiptReport);
        }
        if self.is_gated_id(&result.id) {
            return Err(self.refuse_receipt());
        }
        match self.next(Asked::Report)? {
            None => {
                let event = self.record(EventKind::EventToolResult, Body::Result(result));
                Ok(self.append(vec![event], Then::Read))
            }
            Some(Effect::ToolResult(recorded)) if !is_receipt(&recorded) => Ok(self.read()),
            Some(other) => Err(mismatch(Asked::Report, matches!(other, Effect::ToolResult(_)))),
        }
    }

    /// The harness claims to have run a call that only the host may run.
    fn refuse_receipt(&mut self) -> TurnFailure {
        if !self.recorded.is_empty() {
            return diverged(Divergence::Content(Asked::Report));
        }
        self.sealed = true;
        TurnFailure::ApprovalReceiptReport
    }
}
