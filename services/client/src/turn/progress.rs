//! How far the caller of a turn has been told, and which records are the turn's.

use wire::event::Body;
use wire::{EventKind, ExecRequest, HarnessEnd, LogRecord};

/// What the records so far say.
#[derive(Debug)]
pub(super) struct Progress {
    /// Seq of the last record that the caller has; before the first one the head that the turn expects.
    cursor: i64,
    /// The id that the turn is to have.
    chosen: String,
    /// A request without inputs goes on with the session's turn, if that one is parked.
    may_recover: bool,
    /// The id of the turn, once a record of it has been seen. A host that does not know `execution_id` chooses its own.
    execution: Option<String>,
    recovery: bool,
    ending: Option<Ending>,
}

/// How a turn has ended for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Completed,
    Canceled,
}

/// What a record is to the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The next one of the turn; the cursor is on it now.
    Next,
    /// The caller has it.
    Known,
    /// One before it is missing.
    Gap,
    /// The next one, and another turn's.
    Foreign,
}

impl Progress {
    pub(super) fn new(request: &ExecRequest) -> Self {
        Self {
            cursor: request.expected_last_seq.unwrap_or_default(),
            chosen: request.execution_id.clone(),
            may_recover: request.inputs.is_empty(),
            execution: None,
            recovery: false,
            ending: None,
        }
    }

    pub(super) fn cursor(&self) -> i64 {
        self.cursor
    }

    /// Whether a record of the turn has been seen.
    pub(super) fn has_begun(&self) -> bool {
        self.execution.is_some()
    }

    /// Whether the turn is an older one that goes on after an approval.
    pub(super) fn is_recovery(&self) -> bool {
        self.recovery
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    pub(super) fn is_execution(&self, id: &str) -> bool {
        self.execution.as_deref() == Some(id)
    }

    /// Takes a record that the turn's own stream has sent: it is the turn's, whatever its id.
    pub(super) fn streamed(&mut self, record: &LogRecord) -> Standing {
        self.place(record, |_, _| true)
    }

    /// Takes a record of the log. The turn begins with its START at the head that it expected; a recovery with whatever
    /// comes next of the parked turn.
    pub(super) fn logged(&mut self, record: &LogRecord) -> Standing {
        self.place(record, |progress, (kind, execution)| match kind {
            EventKind::EventExecutionStart => execution == progress.chosen,
            EventKind::EventLifecycle => false,
            _ => progress.may_recover && !execution.is_empty(),
        })
    }

    fn place(&mut self, record: &LogRecord, begins: fn(&Self, (EventKind, &str)) -> bool) -> Standing {
        let past = record.seq.saturating_sub(self.cursor);
        if past <= 0 {
            return Standing::Known;
        }
        let Some(event) = &record.event else { return Standing::Foreign };
        let (kind, execution) = (event.kind(), event.execution_id.as_str());
        let is_ours = match &self.execution {
            // Markers have no id. Those that follow a turn's records are about its compute.
            Some(id) => kind == EventKind::EventLifecycle || id == execution,
            None => begins(self, (kind, execution)),
        };
        match past {
            1 if is_ours => {}
            1 => return Standing::Foreign,
            _ => return Standing::Gap,
        }
        self.cursor = record.seq;
        if self.execution.is_none() && kind != EventKind::EventLifecycle {
            self.execution = Some(execution.to_owned());
            self.recovery = kind != EventKind::EventExecutionStart;
        }
        if let Some(Body::End(end)) = &event.body {
            let canceled = end.state == HarnessEnd::CANCELED;
            self.ending = Some(if canceled { Ending::Canceled } else { Ending::Completed });
        }
        Standing::Next
    }
}
