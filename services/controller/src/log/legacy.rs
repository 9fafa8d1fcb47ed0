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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, ResumeStep};
    use crate::testing::events::*;

    fn invalid(at: u64, rule: &'static str) -> Result<(), LogError> {
        Err(LogError::Invalid { seq: seq(at), rule })
    }

    #[test]
    fn marker_rules_stop_new_turns_and_resume() {
        let (old, e1) = (Of(""), Of("e1"));
        let kind = "a record of this kind needs an execution id";
        let late = "a record without execution id follows one with an execution id";
        let tail = "an unfinished legacy turn is followed by a record other than EXECUTION_START";
        let table = [
            (vec![old.input("a"), old.model_call("h"), old.output("x"), old.usage(1), old.end()], Ok(())),
            (vec![old.input("a"), old.tool_call(mediated("t")), old.tool_result(result("t")), old.error()], Ok(())),
            (vec![old.start(0)], invalid(1, kind)),
            (vec![old.input("a"), old.request("t")], invalid(2, kind)),
            (vec![old.event(EventKind::Unspecified, None)], invalid(1, kind)),
            (vec![e1.start(0), e1.end(), old.output("x")], invalid(3, late)),
            (vec![old.input("a"), e1.start(0), old.end()], invalid(3, late)),
            (vec![e1.start(0), e1.end(), fork()], Ok(())),
            (vec![old.input("a"), e1.input("b")], invalid(2, tail)),
            (vec![old.input("a"), old.end(), e1.input("b")], Ok(())),
            // A START supersedes what is unfinished or failed.
            (vec![old.input("a"), e1.start(1), e1.input("b")], Ok(())),
            (vec![old.input("a"), old.error(), e1.start(0)], Ok(())),
        ];
        for (records, expected) in table {
            let log = Log::of(&records);
            assert_eq!(log.check_start(), expected, "{records:?}");
            assert_eq!(log.plan_resume().map(drop), expected, "{records:?}");
        }
    }

    #[test]
    fn a_legacy_turn_is_pending_until_end_or_error() {
        let of = Of("");
        let table = [
            (vec![of.input("a")], true),
            (vec![of.input("a"), of.output("x")], true),
            (vec![of.input("a"), of.end()], false),
            (vec![of.input("a"), of.model_call("h"), of.error()], false),
            (vec![of.input("a"), of.end(), of.input("b")], true),
            (vec![fork(), lifecycle(wire::lifecycle::Kind::LifecycleResume)], false),
            (vec![], false),
        ];
        for (records, pending) in table {
            let step = Log::of(&records).plan_resume().unwrap().step;
            assert_eq!(matches!(step, ResumeStep::Run(_)), pending, "{records:?}");
        }
    }

    #[test]
    fn effects_without_any_input_cannot_be_resumed() {
        let log = Log::of(&[Of("").output("x")]);
        let expected = invalid(1, "an unfinished legacy turn has no INPUT");
        assert_eq!(log.plan_resume().map(drop), expected);
    }

    #[test]
    fn the_id_of_a_legacy_run_is_the_hash_of_its_anchor() {
        let id = |uid: &str, at| visible_id(&SessionUid::parse(uid).unwrap(), seq(at), &Of("").input("hello")).unwrap();
        let event = r#"{"kind":"EVENT_INPUT","message":{"parts":[{"text":{"text":"hello"}}],"role":"user"}}"#;
        let hash = |text: &str| format!("legacy-{}", hex::encode(Sha256::digest(text)));
        assert_eq!(id("s", 3).as_str(), hash(&format!(r#"{{"session_uid":"s","seq":"3","event":{event}}}"#)));
        assert_eq!(id("\"", 1).as_str(), hash(&format!(r#"{{"session_uid":"\"","seq":"1","event":{event}}}"#)));
    }

    #[test]
    fn a_replay_is_anchored_at_the_first_input_or_else_the_first_record_of_a_turn() {
        let of = Of("");
        assert_eq!(replay_anchor(&[fork(), of.output("x"), of.input("a"), of.input("b")]), seq(3));
        assert_eq!(replay_anchor(&[fork(), of.output("x"), of.end()]), seq(2));
    }
}
