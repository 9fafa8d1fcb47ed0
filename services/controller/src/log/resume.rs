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
            Some(last) if last.ended => Ok(ResumePlan::nothing_pending()),
            Some(last) => {
                last.inputs.check(last.ended)?;
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
