//! Records from before executions had ids (execution.md §8).

use journal::{ExecutionId, Seq, SessionUid};
use sha2::{Digest, Sha256};
use wire::canonical::Canonical;
use wire::{Event, EventKind};

use super::LogError;

/// The legacy part of a log, and the marker rules that separate it from the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Legacy {
    /// Whether there are legacy records.
    present: bool,
    /// Whether a record with an execution id follows.
    superseded: bool,
    pub(super) last_input: Option<Seq>,
    pub(super) last_end: Option<Seq>,
    /// Whether END or ERROR follows the last INPUT.
    finished: bool,
    problem: Option<LogError>,
}

impl Legacy {
    /// Takes any record but a LIFECYCLE.
    pub(super) fn push(&mut self, seq: Seq, event: &Event) {
        let outcome = if event.execution_id.is_empty() { self.legacy(seq, event) } else { self.modern(event) };
        if let Err(rule) = outcome {
            self.problem.get_or_insert(LogError::Invalid { seq, rule });
        }
    }

    fn legacy(&mut self, seq: Seq, event: &Event) -> Result<(), &'static str> {
        if self.superseded {
            return Err("a record without execution id follows one with an execution id");
        }
        self.present = true;
        match event.kind() {
            EventKind::EventInput => {
                self.last_input = Some(seq);
                self.finished = false;
            }
            EventKind::EventEnd => {
                self.last_end = Some(seq);
                self.finished = true;
            }
            EventKind::EventError => self.finished = true,
            EventKind::EventModelCall
            | EventKind::EventOutput
            | EventKind::EventToolCall
            | EventKind::EventToolResult
            | EventKind::EventUsage => {}
            _ => return Err("a record of this kind needs an execution id"),
        }
        Ok(())
    }

    fn modern(&mut self, event: &Event) -> Result<(), &'static str> {
        let first = !std::mem::replace(&mut self.superseded, true);
        let unfinished = self.present && !self.finished;
        if first && unfinished && event.kind() != EventKind::EventExecutionStart {
            return Err("an unfinished legacy turn is followed by a record other than EXECUTION_START");
        }
        Ok(())
    }

    /// Whether its last turn has ended, well or not.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(super) fn check(&self) -> Result<(), LogError> {
        self.problem.clone().map_or(Ok(()), Err)
    }
}

/// The record that names a controller replay of the legacy prefix: the first INPUT, else the first record that is not
/// a LIFECYCLE.
pub(super) fn replay_anchor(history: &[Event]) -> Seq {
    let position = history
        .iter()
        .position(|event| event.kind() == EventKind::EventInput)
        .or_else(|| history.iter().position(|event| event.kind() != EventKind::EventLifecycle));
    Seq::FIRST.plus(position.unwrap_or(0))
}

/// The id that a harness is given for a legacy run: a hash of the record that anchors it.
pub(super) fn visible_id(session: &SessionUid, anchor: Seq, event: &Event) -> Result<ExecutionId, LogError> {
    let unreadable = |_| LogError::Invalid { seq: anchor, rule: "the record has no canonical form" };
    let event = event.canonical_json().map_err(unreadable)?;
    let session = serde_json::Value::from(session.as_str());
    let text = format!(r#"{{"session_uid":{session},"seq":"{anchor}","event":{event}}}"#);
    Ok(ExecutionId::new(&format!("legacy-{}", hex::encode(Sha256::digest(text)))))
}
