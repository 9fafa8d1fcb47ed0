//! One execution of a log.

use journal::{ExecutionId, Seq};
use wire::{Event, EventKind, HarnessEnd, event};

use super::LogError;
use super::evidence::{Evidence, Gate};
use super::inputs::Inputs;
use super::intents::Intents;

/// What the index keeps of an execution.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) id: ExecutionId,
    /// Its first record.
    pub(super) first: Seq,
    /// Its last record; records of others may lie between.
    pub(super) last: Seq,
    /// Recorded registry name and version of its harness; empty where none is recorded.
    pub(super) harness: String,
    pub(super) harness_version: String,
    pub(super) ended: bool,
    /// Its END says that it was canceled.
    pub(super) canceled: bool,
    pub(super) inputs: Inputs,
    pub(super) intents: Intents,
    evidence: Evidence,
}

impl Execution {
    pub(super) fn new(id: ExecutionId, first: Seq) -> Self {
        Self {
            id,
            first,
            last: first,
            harness: String::new(),
            harness_version: String::new(),
            ended: false,
            canceled: false,
            inputs: Inputs::default(),
            intents: Intents::default(),
            evidence: Evidence::default(),
        }
    }

    pub(super) fn push(&mut self, seq: Seq, event: &Event) {
        self.last = seq;
        if let Some(event::Body::ExecutionStart(start)) = &event.body {
            self.harness.clone_from(&start.harness);
            self.harness_version.clone_from(&start.harness_version);
        }
        if self.id.is_legacy() && event.kind() == EventKind::EventInput {
            // Legacy turns share one execution; each INPUT begins another.
            self.intents = Intents::default();
        }
        self.inputs.push(seq, event, seq == self.first);
        self.intents.push(seq, event);
        self.evidence.push(seq, event, self.ended);
        if let Some(event::Body::End(end)) = &event.body {
            self.canceled = end.state == HarnessEnd::CANCELED;
        }
        self.ended |= event.kind() == EventKind::EventEnd;
    }

    /// Whether it has anything to do with approvals.
    pub(super) fn bears_approvals(&self) -> bool {
        self.evidence.bearing().is_some()
    }

    /// Its part of the approval scan.
    pub(super) fn check_evidence(&self) -> Result<(), LogError> {
        if let Some(seq) = self.evidence.bearing()
            && self.id.is_legacy()
        {
            return Err(LogError::Invalid { seq, rule: "an approval record has no execution id" });
        }
        let broken = [self.evidence.problem(), self.inputs.problem()].into_iter().flatten();
        if let Some(first) = broken.min_by_key(|problem| problem.seq()) {
            return Err(first.clone());
        }
        self.inputs.check(self.ended)
    }

    pub(super) fn last_gate(&self) -> Option<&Gate> {
        self.evidence.gates().last()
    }

    pub(super) fn gates(&self) -> &[Gate] {
        self.evidence.gates()
    }
}
