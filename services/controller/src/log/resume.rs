//! What Resume does with a log (execution.md §7.2, §7.3).

use journal::{ExecutionId, Seq};
use wire::ApprovalRef;

use super::execution::Execution;
use super::recorded::Span;
use super::{Gate, Log, LogError, TurnSpan};

/// What Resume does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePlan {
    /// The pending turn's recorded registry name. `None`: none is recorded, or no turn is pending; the session's own
    /// harness is used.
    pub harness: Option<String>,
    /// The pending turn's recorded version of it; empty: not checked.
    pub harness_version: String,
    /// What to do once the harness has been chosen and its pin and collision checks have passed.
    pub step: ResumeStep,
}

/// What to do after the harness has been chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeStep {
    /// Nothing is pending: admission, then LIFECYCLE RESUME.
    NothingPending,
    /// A gate is undecided: reply the paused session, without a fence, a write or a harness.
    AwaitDecision(ApprovalRef),
    /// A gated call lacks its APPROVAL_REQUEST: append it under a fresh fence and reply the paused session.
    RepairRequest {
        /// The turn.
        execution: ExecutionId,
        /// The gated call.
        tool_call_id: String,
    },
    /// The turn must not be run again here. Nothing is written.
    Refuse(LogError),
    /// Admission, then run the turn.
    Run(TurnSpan),
}

impl Log {
    /// What Resume does with this log.
    ///
    /// # Errors
    /// What fails before a harness is chosen: broken markers, approvals or inputs.
    pub fn plan_resume(&self) -> Result<ResumePlan, LogError> {
        self.legacy.check()?;
        self.check_approvals()?;
        match self.executions.last() {
            Some(last) if last.id.is_legacy() => self.plan_legacy(last),
            // Whatever it was, it has been closed for good.
            Some(last) if last.canceled => Ok(ResumePlan::nothing_pending()),
            Some(last) => {
                last.inputs.check(last.ended)?;
                if last.ended {
                    return Ok(ResumePlan::nothing_pending());
                }
                Ok(ResumePlan {
                    harness: Some(last.harness.clone()).filter(|name| !name.is_empty()),
                    harness_version: last.harness_version.clone(),
                    step: self.step(last),
                })
            }
            None => Ok(ResumePlan::nothing_pending()),
        }
    }

    fn plan_legacy(&self, last: &Execution) -> Result<ResumePlan, LogError> {
        if self.legacy.is_finished() {
            return Ok(ResumePlan::nothing_pending());
        }
        let input = self
            .legacy
            .last_input
            .ok_or(LogError::Invalid { seq: last.first, rule: "an unfinished legacy turn has no INPUT" })?;
        let span = TurnSpan { execution: last.id.clone(), span: Span::LegacyTurn { input, last: last.last } };
        let step = self.inherited_intent(last).map_or(ResumeStep::Run(span), ResumeStep::Refuse);
        Ok(ResumePlan { step, ..ResumePlan::nothing_pending() })
    }

    fn step(&self, last: &Execution) -> ResumeStep {
        if let Some(gate) = last.last_gate().filter(|gate| gate.receipt.is_none()) {
            if !self.is_owned(gate.call) {
                return ResumeStep::Refuse(LogError::InheritedGate { call: gate.call });
            }
            if gate.decision.is_none() {
                return undecided(last, gate);
            }
        }
        match self.inherited_intent(last) {
            Some(error) => ResumeStep::Refuse(error),
            None => ResumeStep::Run(TurnSpan {
                execution: last.id.clone(),
                span: Span::Modern { first: last.first, last: last.last },
            }),
        }
    }

    fn inherited_intent(&self, last: &Execution) -> Option<LogError> {
        let call: Seq = last.intents.first_unanswered()?;
        (!self.is_owned(call)).then_some(LogError::InheritedToolIntent { call })
    }
}

fn undecided(last: &Execution, gate: &Gate) -> ResumeStep {
    match gate.reference(&last.id) {
        Some(reference) => ResumeStep::AwaitDecision(reference),
        None => ResumeStep::RepairRequest { execution: last.id.clone(), tool_call_id: gate.tool_call_id.clone() },
    }
}

impl ResumePlan {
    fn nothing_pending() -> Self {
        Self { harness: None, harness_version: String::new(), step: ResumeStep::NothingPending }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::events::*;
    use crate::testing::session::uid;
    use wire::{Event, ExecutionStart, Message};

    fn step(records: &[Event]) -> ResumeStep {
        Log::of(records).plan_resume().unwrap().step
    }

    fn gate() -> Vec<Event> {
        vec![Of("e1").start(0), Of("e1").tool_call(gated("g")), Of("e1").request("g")]
    }

    #[test]
    fn the_last_first_seen_turn_is_resumed_on_its_recorded_harness() {
        let recorded = |harness: &str| ExecutionStart {
            config: vec![1, 2],
            resume_from_seq: -3,
            input_count: Some(1),
            harness: harness.into(),
            harness_version: "v7".into(),
        };
        let records = [
            Of("e1").start_with(recorded("other")),
            fork(),
            Of("e2").start_with(recorded("echo")),
            Of("e2").input("two"),
            Of("e1").input("late"),
            Of("e2").usage(1),
        ];
        let plan = Log::of(&records).plan_resume().unwrap();
        assert_eq!((plan.harness.as_deref(), plan.harness_version.as_str()), (Some("echo"), "v7"));
        let ResumeStep::Run(span) = plan.step else { panic!("nothing to run") };
        let turn = span.read(&uid(), &records).unwrap();
        assert_eq!((turn.execution.as_str(), turn.history_len), ("e2", 2));
        assert_eq!((turn.config, turn.resume_from_seq), (vec![1, 2], -3));
        assert_eq!(turn.inputs, [Message::text("user", "two")]);
    }

    #[test]
    fn a_turn_without_recorded_harness_runs_on_the_session_s() {
        let plan = Log::of(&[Of("e1").start(0)]).plan_resume().unwrap();
        assert_eq!((plan.harness, plan.harness_version), (None, String::new()));
    }

    #[test]
    fn an_effect_without_payload_cannot_be_read() {
        let records = [Of("e1").start(0), Of("e1").event(wire::EventKind::EventUsage, None)];
        let ResumeStep::Run(span) = step(&records) else { panic!("nothing to run") };
        let error = span.read(&uid(), &records).unwrap_err();
        assert_eq!(error, LogError::Invalid { seq: seq(2), rule: "an effect has no payload" });
    }

    #[test]
    fn nothing_is_pending_after_the_last_turn_ended() {
        for records in [vec![], vec![fork()], vec![Of("e1").start(0), Of("e2").start(0), Of("e2").end()]] {
            assert_eq!(step(&records), ResumeStep::NothingPending);
        }
    }

    #[test]
    fn a_gate_waits_for_its_request_and_its_decision() {
        let reference = Log::of(&gate()).selected_gate().unwrap().reference(&ExecutionId::new("e1")).unwrap();
        assert_eq!((reference.tool_call_id.as_str(), reference.request_seq), ("g", 3));
        let repair = ResumeStep::RepairRequest { execution: ExecutionId::new("e1"), tool_call_id: "g".into() };
        assert_eq!(step(&gate()[..2]), repair);
        assert_eq!(step(&gate()), ResumeStep::AwaitDecision(reference.clone()));
        let errored = [gate(), vec![Of("e1").error()]].concat();
        assert_eq!(step(&errored), ResumeStep::AwaitDecision(reference));
        let decided = [gate(), vec![Of("e1").decision("g", 3, false)]].concat();
        assert!(matches!(step(&decided), ResumeStep::Run(_)));
    }

    #[test]
    fn an_inherited_gate_is_refused_decided_or_not() {
        let refused = ResumeStep::Refuse(LogError::InheritedGate { call: seq(2) });
        let decision = Of("e1").decision("g", 3, true);
        for tail in [vec![fork()], vec![decision, fork()]] {
            assert_eq!(step(&[gate(), tail].concat()), refused);
        }
        assert_eq!(step(&[gate()[..2].to_vec(), vec![fork()]].concat()), refused);
    }

    #[test]
    fn an_inherited_gate_with_receipt_is_run_on() {
        let receipt = Of("e1").tool_result(receipt("g", 3, 4));
        let records = [gate(), vec![Of("e1").decision("g", 3, true), receipt, fork()]].concat();
        assert!(matches!(step(&records), ResumeStep::Run(_)));
    }

    #[test]
    fn the_harness_of_an_open_own_gate_is_told() {
        let start = ExecutionStart { input_count: Some(0), harness: "echo".into(), ..ExecutionStart::default() };
        let open = [vec![Of("e1").start_with(start)], gate()[1..].to_vec()].concat();
        assert_eq!(Log::of(&open).open_gate_harness(), Some("echo"));
        let inherited = [open.clone(), vec![fork()]].concat();
        assert_eq!(Log::of(&inherited).open_gate_harness(), None);
        let superseded = [open, vec![Of("e2").start(0)]].concat();
        assert_eq!(Log::of(&superseded).open_gate_harness(), None);
        assert_eq!(Log::of(&gate()).open_gate_harness(), None);
    }
}
