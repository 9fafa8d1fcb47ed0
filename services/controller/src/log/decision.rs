//! What Approve does with a log (execution.md §9.4, steps 4–7).

use journal::{ExecutionId, Seq};
use thiserror::Error;
use wire::event::Body;
use wire::{ApprovalRef, Event, IdentityRef};

use super::{Gate, Log};

/// What Approve does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionPlan {
    /// Append the decision under a fresh fence.
    Decide,
    /// A decision is recorded here: answer with it if it [is the same](is_same_decision), else refuse.
    Decided(Seq),
}

/// Why a gate cannot be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Undecidable {
    /// No gate has this tuple.
    #[error("no approval has this execution_id, tool_call_id and request_seq")]
    NoSuchGate,
    /// It belongs to the session that this one was forked from.
    #[error("the approval was inherited by a fork and cannot be decided here")]
    Inherited,
    /// Its turn has ended, or a newer one has superseded it.
    #[error("the approval is no longer pending")]
    NotPending,
}

impl Log {
    /// What Approve does with this gate. The evidence is [checked](Self::check_approvals) before.
    ///
    /// # Errors
    /// [`Undecidable`].
    pub fn plan_decision(&self, reference: &ApprovalRef) -> Result<DecisionPlan, Undecidable> {
        let id = ExecutionId::new(&reference.execution_id);
        let position = *self.by_id.get(&id).ok_or(Undecidable::NoSuchGate)?;
        let gates = self.executions[position].gates();
        let named = |gate: &&Gate| gate.reference(&id).is_some_and(|found| found == *reference);
        let gate = gates.iter().find(named).ok_or(Undecidable::NoSuchGate)?;
        if !self.is_owned(gate.call) {
            return Err(Undecidable::Inherited);
        }
        if let Some(decision) = gate.decision {
            return Ok(DecisionPlan::Decided(decision.seq));
        }
        let is_latest = position + 1 == self.executions.len() && gates.last() == Some(gate);
        if is_latest && gate.receipt.is_none() && !self.executions[position].ended {
            Ok(DecisionPlan::Decide)
        } else {
            Err(Undecidable::NotPending)
        }
    }
}

/// Whether a recorded APPROVAL_RESULT says what a request says. An identity that names nobody equals none.
#[must_use]
pub fn is_same_decision(recorded: &Event, approved: bool, reason: &str, identity: Option<&IdentityRef>) -> bool {
    let named = |identity: Option<&IdentityRef>| identity.filter(|identity| !identity.is_empty()).cloned();
    matches!(&recorded.body, Some(Body::ApprovalResult(decision))
        if decision.approved == approved && decision.reason == reason)
        && named(recorded.actor.as_ref()) == named(identity)
}
