//! What Approve does with a log (execution.md §9.4, steps 4–7).

use std::time::Duration;

use journal::{ExecutionId, Seq};
use thiserror::Error;
use wire::event::Body;
use wire::protobuf::Timestamp;
use wire::{ApprovalRef, ApprovalResult, Event, EventKind, IdentityRef};

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
    /// A newer turn has superseded its own.
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
        let named = |gate: &&Gate| gate.reference(&id).is_some_and(|found| found == *reference);
        let gate = self.executions[position].gates().iter().find(named).ok_or(Undecidable::NoSuchGate)?;
        if !self.is_owned(gate.call) {
            return Err(Undecidable::Inherited);
        }
        if let Some(decision) = gate.decision {
            return Ok(DecisionPlan::Decided(decision.seq));
        }
        // In valid evidence nothing follows an undecided call in its turn, neither another call nor END.
        if position + 1 == self.executions.len() { Ok(DecisionPlan::Decide) } else { Err(Undecidable::NotPending) }
    }
}

/// The APPROVAL_RESULT of a decision that was made at `unix_time` (journal.md §6).
#[must_use]
pub fn decision(
    execution: &ExecutionId,
    result: ApprovalResult,
    decider: Option<IdentityRef>,
    unix_time: Duration,
) -> Event {
    Event {
        ts: Some(Timestamp { seconds: unix_time.as_secs() as i64, nanos: unix_time.subsec_nanos() as i32 }),
        actor: decider,
        ..Event::new(EventKind::EventApprovalResult, Body::ApprovalResult(result)).of_execution(execution.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::events::*;

    fn reference(execution: &str, call: &str, request_seq: i64) -> ApprovalRef {
        ApprovalRef { execution_id: execution.into(), tool_call_id: call.into(), request_seq }
    }

    fn gate() -> Vec<Event> {
        vec![Of("e1").start(0), Of("e1").tool_call(gated("g")), Of("e1").request("g")]
    }

    fn decided() -> Vec<Event> {
        [gate(), vec![Of("e1").decision("g", 3, true)]].concat()
    }

    fn plan(records: &[Event]) -> Result<DecisionPlan, Undecidable> {
        Log::of(records).plan_decision(&reference("e1", "g", 3))
    }

    #[test]
    fn a_pending_gate_is_decided() {
        assert_eq!(plan(&gate()), Ok(DecisionPlan::Decide));
    }

    #[test]
    fn only_the_exact_tuple_names_a_gate() {
        let log = Log::of(&gate());
        for other in [reference("e2", "g", 3), reference("e1", "h", 3), reference("e1", "g", 2)] {
            assert_eq!(log.plan_decision(&other), Err(Undecidable::NoSuchGate));
        }
        assert_eq!(plan(&gate()[..2]), Err(Undecidable::NoSuchGate));
    }

    #[test]
    fn a_decision_is_found_after_receipt_end_and_newer_turns() {
        let receipt = Of("e1").tool_result(receipt("g", 3, 4));
        let mut records = decided();
        for next in [receipt, Of("e1").end(), Of("e2").start(0)] {
            assert_eq!(plan(&records), Ok(DecisionPlan::Decided(seq(4))));
            records.push(next);
        }
        assert_eq!(plan(&records), Ok(DecisionPlan::Decided(seq(4))));
    }

    #[test]
    fn inherited_and_superseded_gates_are_not_decided() {
        assert_eq!(plan(&[gate(), vec![fork()]].concat()), Err(Undecidable::Inherited));
        assert_eq!(plan(&[decided(), vec![fork()]].concat()), Err(Undecidable::Inherited));
        assert_eq!(plan(&[gate(), vec![Of("e2").start(0)]].concat()), Err(Undecidable::NotPending));
    }

    #[test]
    fn a_decision_is_the_same_when_answer_reason_and_identity_are() {
        let nobody = IdentityRef::default();
        let ada = IdentityRef { principal: "ada".into(), ..IdentityRef::default() };
        let anonymous = Of("e1").decision("g", 3, true);
        let named = Event { actor: Some(ada.clone()), ..anonymous.clone() };
        assert!(is_same_decision(&anonymous, true, "", None));
        assert!(is_same_decision(&anonymous, true, "", Some(&nobody)));
        assert!(is_same_decision(&named, true, "", Some(&ada)));
        assert!(!is_same_decision(&anonymous, false, "", None));
        assert!(!is_same_decision(&anonymous, true, "why", None));
        assert!(!is_same_decision(&anonymous, true, "", Some(&ada)));
        assert!(!is_same_decision(&named, true, "", None));
        assert!(!is_same_decision(&Of("e1").end(), true, "", None));
    }
}
