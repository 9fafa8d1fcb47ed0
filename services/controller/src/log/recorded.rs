//! The records of one turn, read out of the history.

use journal::{ExecutionId, Seq, SessionUid};
use wire::{Event, EventKind, Message, event};

use super::{LogError, legacy};
use crate::turn::{Effect, Recording};

/// Where a recorded turn is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSpan {
    pub(super) execution: ExecutionId,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// Records of the execution among these.
    Modern { first: Seq, last: Seq },
    /// The last legacy turn: one input and what follows it.
    LegacyTurn { input: Seq, last: Seq },
    /// The whole legacy prefix as one run.
    LegacyPrefix { last: Seq },
}

/// A recorded turn, ready to be run again.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTurn {
    /// The id that the harness is given. Not journaled for a legacy turn.
    pub execution: ExecutionId,
    /// How many events of the log are the turn's history.
    pub history_len: usize,
    /// As recorded.
    pub inputs: Vec<Message>,
    /// As recorded.
    pub config: Vec<u8>,
    /// As recorded.
    pub resume_from_seq: i64,
    /// Whether its last record is an ERROR.
    pub failed: bool,
    /// What the turn did, for [`Turn::recover`](crate::turn::Turn::recover) and
    /// [`Turn::replay`](crate::turn::Turn::replay).
    pub recording: Recording,
}

impl TurnSpan {
    /// Whether the turn is from before executions had ids; its records carry none.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        !matches!(self.span, Span::Modern { .. })
    }

    /// The turn; `None` if it is from before executions had ids.
    #[must_use]
    pub fn execution(&self) -> Option<&ExecutionId> {
        (!self.is_legacy()).then_some(&self.execution)
    }

    /// Reads the turn. `history` holds the events of the log of `session` from the first one on.
    ///
    /// # Errors
    /// [`LogError::Invalid`] for an effect without payload, or a history that is too short.
    pub fn read(&self, session: &SessionUid, history: &[Event]) -> Result<RecordedTurn, LogError> {
        let (first, last) = self.bounds();
        let mut turn = RecordedTurn {
            execution: self.visible_id(session, history)?,
            history_len: self.history_len(),
            inputs: Vec::new(),
            config: Vec::new(),
            resume_from_seq: 0,
            failed: false,
            recording: Recording::new(self.is_legacy()),
        };
        let mut seq = first;
        for event in history.iter().take(index_after(last)).skip(index(first)) {
            if event.execution_id == self.execution.as_str() {
                turn.push(seq, event)?;
            }
            seq = seq.next();
        }
        Ok(turn)
    }

    fn bounds(&self) -> (Seq, Seq) {
        match self.span {
            Span::Modern { first, last } => (first, last),
            Span::LegacyTurn { input, last } => (input, last),
            Span::LegacyPrefix { last } => (Seq::FIRST, last),
        }
    }

    fn history_len(&self) -> usize {
        match self.span {
            Span::Modern { first, .. } => index(first),
            Span::LegacyTurn { input, .. } => index(input),
            // The whole prefix is run with its own records as history.
            Span::LegacyPrefix { last } => index_after(last),
        }
    }

    fn visible_id(&self, session: &SessionUid, history: &[Event]) -> Result<ExecutionId, LogError> {
        let anchor = match self.span {
            Span::Modern { .. } => return Ok(self.execution.clone()),
            Span::LegacyTurn { input, .. } => input,
            Span::LegacyPrefix { .. } => legacy::replay_anchor(history),
        };
        let event = history.get(index(anchor));
        let event = event.ok_or(LogError::Invalid { seq: anchor, rule: "the history does not hold this record" })?;
        legacy::visible_id(session, anchor, event)
    }
}

impl RecordedTurn {
    fn push(&mut self, seq: Seq, event: &Event) -> Result<(), LogError> {
        self.failed = event.kind() == EventKind::EventError;
        match (event.kind(), &event.body) {
            (EventKind::EventInput, Some(event::Body::Message(message))) => self.inputs.push(message.clone()),
            (EventKind::EventExecutionStart, Some(event::Body::ExecutionStart(start))) => {
                self.config.clone_from(&start.config);
                self.resume_from_seq = start.resume_from_seq;
            }
            _ => {
                if let Some(effect) = Effect::read(seq, event).map_err(|rule| LogError::Invalid { seq, rule })? {
                    self.recording.push(effect);
                }
            }
        }
        Ok(())
    }
}

/// The position of a record's event in the history.
fn index(seq: Seq) -> usize {
    index_after(seq).saturating_sub(1)
}

/// How many events there are up to and including it.
fn index_after(seq: Seq) -> usize {
    usize::try_from(seq.get()).unwrap_or(usize::MAX)
}
