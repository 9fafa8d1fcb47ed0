//! What Cancel does with a log: which records end its last turn for good.
//!
//! END must not stand while a gated call is open (execution.md §9.7), so an open gate is closed first, by what its
//! records allow: an undecided one is denied, and the receipt says what the decision calls for. Every reader of the
//! contract thus finds sound evidence and a turn that has ended.

use std::time::Duration;

use journal::{ExecutionId, Seq};
use thiserror::Error;
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::tool_result::Code;
use wire::{ApprovalRequest, ApprovalResult, Error, Event, EventKind, HarnessEnd, IdentityRef, Lifecycle, ToolResult};

use super::execution::Execution;
use super::{Decision, Gate, Log, LogError, decision};
use crate::turn::{denied, failed};

/// What an approved call is answered with whose result nobody recorded.
const CUT_SHORT: &str = "The turn was canceled before the result of this call was recorded; the tool may have run.";

/// Why a turn is canceled, and when.
#[derive(Clone, Copy, Debug)]
pub struct Cancellation<'a> {
    /// Recorded with END and with the decisions that it makes.
    pub reason: &'a str,
    /// Recorded with the decisions that it makes.
    pub unix_time: Duration,
}

/// What Cancel does.
#[derive(Clone, Debug, PartialEq)]
pub enum CancelPlan {
    /// Append these, in one transaction.
    Close(Vec<Event>),
    /// The turn was canceled before.
    Canceled,
}

/// Why there is nothing to cancel.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Uncancelable {
    /// There is no turn, or none of this id.
    #[error("the session has no turn of this execution_id")]
    NoTurn,
    /// It has ended by itself.
    #[error("the turn has ended")]
    Ended,
    /// A newer turn has begun, so it cannot be resumed anyway.
    #[error("the turn was superseded by a newer one")]
    Superseded,
    /// What is recorded of its approvals cannot be closed.
    #[error(transparent)]
    Evidence(#[from] LogError),
}

impl Log {
    /// What Cancel does with the turn of this id, or with the last one if none is named.
    ///
    /// # Errors
    /// [`Uncancelable`].
    pub fn plan_cancel(
        &self,
        named: Option<&ExecutionId>,
        cancellation: Cancellation<'_>,
    ) -> Result<CancelPlan, Uncancelable> {
        let last = self.executions.last().ok_or(Uncancelable::NoTurn)?;
        let turn = match named {
            Some(id) => &self.executions[*self.by_id.get(id).ok_or(Uncancelable::NoTurn)?],
            None => last,
        };
        let ended = if turn.id.is_legacy() { self.legacy.is_finished() } else { turn.ended };
        if ended {
            return if turn.canceled { Ok(CancelPlan::Canceled) } else { Err(Uncancelable::Ended) };
        }
        if turn.id != last.id {
            return Err(Uncancelable::Superseded);
        }
        self.legacy.check()?;
        self.check_approvals()?;
        Ok(CancelPlan::Close(Closing::of(self.head, last).write(cancellation)))
    }
}

/// The records that close a turn, as they are written one after the other.
struct Closing<'a> {
    turn: &'a Execution,
    head: Seq,
    events: Vec<Event>,
}

impl<'a> Closing<'a> {
    fn of(head: Seq, turn: &'a Execution) -> Self {
        Self { turn, head, events: Vec::new() }
    }

    fn write(mut self, cancellation: Cancellation<'_>) -> Vec<Event> {
        let canceled = Lifecycle { kind: Kind::LifecycleCancel.into(), ..Lifecycle::default() };
        self.push(Event::new(EventKind::EventLifecycle, Body::Lifecycle(canceled)));
        let turn = self.turn;
        if let Some(gate) = turn.last_gate().filter(|gate| gate.receipt.is_none()) {
            self.close(gate, cancellation);
        }
        let error = Error { code: 0, description: cancellation.reason.to_owned() };
        let error = Some(error).filter(|error| !error.description.is_empty());
        self.push_body(EventKind::EventEnd, Body::End(HarnessEnd { state: HarnessEnd::CANCELED.into(), error }));
        self.events
    }

    fn close(&mut self, gate: &Gate, cancellation: Cancellation<'_>) {
        let request = gate.request.unwrap_or_else(|| self.request(gate));
        let decision = gate.decision.unwrap_or_else(|| self.deny(gate, request, cancellation));
        let receipt = if decision.approved { failed(CUT_SHORT, Code::ExecutorError) } else { denied() };
        let receipt = ToolResult {
            id: gate.tool_call_id.clone(),
            approval_request_seq: request.to_wire(),
            approval_decision_seq: decision.seq.to_wire(),
            ..receipt
        };
        self.push_body(EventKind::EventToolResult, Body::Result(receipt));
    }

    /// The request that a crash kept from being recorded.
    fn request(&mut self, gate: &Gate) -> Seq {
        let request = ApprovalRequest { tool_call_id: gate.tool_call_id.clone(), reason: String::new() };
        self.push_body(EventKind::EventApprovalRequest, Body::Approval(request))
    }

    fn deny(&mut self, gate: &Gate, request: Seq, cancellation: Cancellation<'_>) -> Decision {
        let result = ApprovalResult {
            tool_call_id: gate.tool_call_id.clone(),
            approved: false,
            reason: cancellation.reason.to_owned(),
            request_seq: request.to_wire(),
        };
        let denial = decision(&self.turn.id, result, Some(decider()), cancellation.unix_time);
        Decision { seq: self.push(denial), approved: false }
    }

    fn push_body(&mut self, kind: EventKind, body: Body) -> Seq {
        self.push(Event::new(kind, body).of_execution(self.turn.id.as_str()))
    }

    fn push(&mut self, event: Event) -> Seq {
        self.head = self.head.next();
        self.events.push(event);
        self.head
    }
}

/// Who denies what a canceled turn waited for: nobody who could have approved it.
fn decider() -> IdentityRef {
    IdentityRef { issuer: "agentsessions".into(), subject: "cancel".into(), ..IdentityRef::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{ExecPlan, ResumeStep, Undecidable};
    use crate::testing::events::*;

    const CANCELLATION: Cancellation<'_> = Cancellation { reason: "enough", unix_time: Duration::from_secs(7) };

    /// The log with what cancels its last turn.
    fn canceled(records: &[Event]) -> Vec<Event> {
        match Log::of(records).plan_cancel(None, CANCELLATION) {
            Ok(CancelPlan::Close(events)) => [records, &events].concat(),
            other => panic!("{other:?}"),
        }
    }

    fn refused(records: &[Event], named: &str) -> Uncancelable {
        Log::of(records).plan_cancel(Some(&ExecutionId::new(named)), CANCELLATION).unwrap_err()
    }

    fn kinds(events: &[Event]) -> String {
        let kinds: Vec<_> = events.iter().map(|event| event.kind().as_str_name().replace("EVENT_", "")).collect();
        kinds.join(" ")
    }

    fn gate() -> Vec<Event> {
        vec![Of("e1").start(0), Of("e1").tool_call(gated("g")), Of("e1").request("g")]
    }

    #[test]
    fn a_canceled_turn_has_ended_for_everybody() {
        let decided = |approved| [gate(), vec![Of("e1").decision("g", 3, approved)]].concat();
        let table = [
            (vec![Of("e1").start(2), Of("e1").input("a")], "LIFECYCLE END"),
            (vec![Of("e1").start(0), Of("e1").tool_call(mediated("t")), Of("e1").error()], "LIFECYCLE END"),
            (gate()[..2].to_vec(), "LIFECYCLE APPROVAL_REQUEST APPROVAL_RESULT TOOL_RESULT END"),
            (gate(), "LIFECYCLE APPROVAL_RESULT TOOL_RESULT END"),
            ([gate(), vec![fork()]].concat(), "LIFECYCLE APPROVAL_RESULT TOOL_RESULT END"),
            (decided(true), "LIFECYCLE TOOL_RESULT END"),
            (decided(false), "LIFECYCLE TOOL_RESULT END"),
            (vec![Of("").input("a"), Of("").output("x")], "LIFECYCLE END"),
        ];
        for (records, expected) in table {
            let after = canceled(&records);
            assert_eq!(kinds(&after[records.len()..]), expected);
            let log = Log::of(&after);
            assert_eq!(log.check_approvals(), Ok(()), "{expected}");
            assert_eq!(log.check_start(), Ok(()), "{expected}");
            assert_eq!(log.plan_exec(true), Ok(ExecPlan::NewTurn), "{expected}");
            assert_eq!(log.plan_exec(false), Ok(ExecPlan::NewTurn), "{expected}");
            assert_eq!(log.plan_resume().unwrap().step, ResumeStep::NothingPending, "{expected}");
            assert_eq!(log.plan_cancel(None, CANCELLATION), Ok(CancelPlan::Canceled), "{expected}");
            assert!(log.completed_turns("", "").unwrap().iter().all(|turn| turn.is_legacy()), "{expected}");
        }
    }

    #[test]
    fn the_reason_is_recorded_with_end_and_with_the_denial() {
        let after = canceled(&gate());
        let Some(Body::ApprovalResult(denial)) = &after[4].body else { panic!("no decision") };
        assert_eq!((denial.approved, denial.reason.as_str(), denial.request_seq), (false, "enough", 3));
        assert_eq!(after[4].ts.unwrap().seconds, 7);
        let Some(Body::End(end)) = &after[6].body else { panic!("no END") };
        let error = Some(Error { code: 0, description: "enough".into() });
        assert_eq!(*end, HarnessEnd { state: "CANCELED".into(), error });
        let silent = Cancellation { reason: "", ..CANCELLATION };
        let Ok(CancelPlan::Close(events)) = Log::of(&gate()).plan_cancel(None, silent) else { panic!("no plan") };
        assert!(matches!(&events.last().unwrap().body, Some(Body::End(end)) if end.error.is_none()));
    }

    #[test]
    fn an_approved_call_without_result_is_closed_as_one_that_may_have_run() {
        let after = canceled(&[gate(), vec![Of("e1").decision("g", 3, true)]].concat());
        let Some(Body::Result(receipt)) = &after[5].body else { panic!("no receipt") };
        assert_eq!((receipt.code(), receipt.error.as_str()), (Code::ExecutorError, CUT_SHORT));
    }

    #[test]
    fn no_approval_is_left_to_be_decided() {
        let log = Log::of(&canceled(&gate()));
        let gate = log.selected_gate().unwrap().reference(&ExecutionId::new("e1")).unwrap();
        assert!(log.plan_decision(&gate).is_ok_and(|plan| plan == crate::log::DecisionPlan::Decided(seq(5))));
        let inherited = canceled(&[self::gate(), vec![fork()]].concat());
        assert_eq!(Log::of(&inherited).plan_decision(&gate), Err(Undecidable::Inherited));
    }

    #[test]
    fn only_an_unfinished_last_turn_is_canceled() {
        assert_eq!(Log::of(&[]).plan_cancel(None, CANCELLATION), Err(Uncancelable::NoTurn));
        let records = [Of("e1").start(0), Of("e2").start(0), Of("e2").end()];
        assert_eq!(refused(&records, "e3"), Uncancelable::NoTurn);
        assert_eq!(refused(&records, "e2"), Uncancelable::Ended);
        assert_eq!(refused(&records, "e1"), Uncancelable::Superseded);
        let broken = [gate(), vec![Of("e1").request("g")]].concat();
        assert!(matches!(refused(&broken, "e1"), Uncancelable::Evidence(LogError::Invalid { .. })));
    }
}
