//! One session's log as it was written.

use std::collections::BTreeMap;

use journal::oracle::{self, Facts};
use journal::{Fence, Seq, SessionState};
use wire::event::Body;
use wire::verify::Verifier;
use wire::{Event, EventKind, ExecState, LogRecord, Session, ToolCall};

use super::{Broken, RunId};

/// Every record of a log, and who wrote under which fence.
#[derive(Default)]
pub(super) struct SeenLog {
    records: Vec<LogRecord>,
    events: Vec<Event>,
    verifier: Verifier,
    fence: Fence,
    /// Records of the session that this one was forked from.
    inherited: usize,
    writers: BTreeMap<Fence, RunId>,
    pending: bool,
}

impl SeenLog {
    pub(super) fn head(&self) -> Seq {
        Seq::ZERO.plus(self.records.len())
    }

    pub(super) fn fence(&self) -> Fence {
        self.fence
    }

    pub(super) fn is_pending(&self) -> bool {
        self.pending
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(super) fn records(&self) -> &[LogRecord] {
        &self.records
    }

    /// Whether a record was written to the session that this one was forked from.
    pub(super) fn is_inherited(&self, at: usize) -> bool {
        at < self.inherited
    }

    /// The fence under which the turn with this input began.
    pub(super) fn fence_of_input(&self, input: &str) -> Option<Fence> {
        let is_it = |event: &Event| match &event.body {
            Some(Body::Message(message)) => event.kind() == EventKind::EventInput && message.text_content() == input,
            _ => false,
        };
        let record = self.own().iter().find(|record| record.event.as_ref().is_some_and(is_it))?;
        Fence::from_wire(record.fence)
    }

    /// The records that were written to this very session.
    pub(super) fn own(&self) -> &[LogRecord] {
        &self.records[self.inherited..]
    }

    pub(super) fn own_len(&self) -> usize {
        self.own().len()
    }

    /// Sees a commit of `run`, after which the session stands like this and has these new records.
    pub(super) fn see(&mut self, run: RunId, state: &SessionState, new: Vec<LogRecord>) -> Result<(), Broken> {
        if self.records.is_empty() {
            self.inherited = usize::try_from(state.to_wire().fork_seq).unwrap_or_default();
        }
        let grown = !new.is_empty();
        for record in new {
            self.see_record(run, state.fence(), record)?;
        }
        if state.fence() < self.fence {
            return Err(format!("its fence fell from {} to {}", self.fence.get(), state.fence().get()));
        }
        self.fence = state.fence();
        if state.last_seq() != self.head() || state.head_hash() != self.verifier.head() {
            return Err(format!("its head {} is not that of its {} records", state.last_seq(), self.records.len()));
        }
        if grown { self.check_projection(&state.to_wire(), state) } else { Ok(()) }
    }

    fn see_record(&mut self, run: RunId, fence: Fence, record: LogRecord) -> Result<(), Broken> {
        self.verifier.check(&record).map_err(|bad| bad.to_string())?;
        if self.records.len() >= self.inherited {
            if record.fence != fence.to_wire() || fence < self.fence {
                let (at, known) = (record.fence, self.fence.get());
                return Err(format!("record {} is under fence {at} after fence {known}", record.seq));
            }
            let writer = *self.writers.entry(fence).or_insert(run);
            if writer != run {
                return Err(format!("record {} is a second writer's: {writer} has fence {}", record.seq, fence.get()));
            }
        }
        self.events.push(record.event.clone().unwrap_or_default());
        self.records.push(record);
        Ok(())
    }

    fn check_projection(&mut self, session: &Session, state: &SessionState) -> Result<(), Broken> {
        let facts = oracle::read(&self.events);
        self.pending = facts.pending.is_some();
        check_against(&facts, session)?;
        let projection = state.projection();
        let execution = projection.latest_execution().map(|id| id.as_str().to_owned());
        if execution != facts.latest_execution
            || projection.latest_execution_ended() != facts.ended
            || projection.latest_execution_canceled() != facts.canceled
            || projection.has_approvals() != facts.has_approvals
            || projection.latest_fork().get() != facts.latest_fork
        {
            return Err(format!("its projection {projection:?} is not {facts:?}"));
        }
        Ok(())
    }

    pub(super) fn check_acknowledged(&self, record: &LogRecord) -> Result<(), Broken> {
        let at = usize::try_from(record.seq - 1).map_err(|_| format!("a record has seq {}", record.seq))?;
        match self.records.get(at) {
            Some(found) if found == record => Ok(()),
            Some(_) => Err(format!("record {} is not the one that was acknowledged", record.seq)),
            None => Err(format!("record {} was acknowledged and is not there", record.seq)),
        }
    }

    pub(super) fn check_session(&self, session: &Session, asked: usize) -> Result<(), Broken> {
        let last = usize::try_from(session.last_seq).map_err(|_| format!("last_seq is {}", session.last_seq))?;
        if last < asked {
            return Err(format!("an answer as of record {last} to a question after record {asked}"));
        }
        let events = self.events.get(..last).ok_or(format!("an answer as of record {last}, which is not there"))?;
        check_against(&oracle::read(events), session)
    }

    pub(super) fn check_replayed(&self, records: &[LogRecord], asked: usize) -> Result<(), Broken> {
        if records.len() < asked {
            return Err(format!("{} records were replayed after {asked} were written", records.len()));
        }
        match self.records.get(..records.len()) {
            Some(found) if found == records => Ok(()),
            _ => Err("records were replayed that are not those that were written".to_owned()),
        }
    }

    pub(super) fn check_unchanged(&self, records: &[LogRecord]) -> Result<(), Broken> {
        if records == self.records {
            Ok(())
        } else {
            Err("its records have changed since they were written".to_owned())
        }
    }

    pub(super) fn check_told(&self, execution: &str, history: &[Event]) -> Result<(), Broken> {
        let start = self.events.iter().position(|event| event.execution_id == execution);
        let before = start.map(|start| &self.events[..start]);
        if before == Some(history) {
            return Ok(());
        }
        let expected = before.map_or("that turn is not in the log".to_owned(), |before| before.len().to_string());
        Err(format!("turn {execution} was told {} events of history: {expected}", history.len()))
    }

    /// A tool may run once its call is recorded, and approved if it has to be.
    pub(super) fn check_intent(&self, key: &str) -> Result<(), Broken> {
        let mut after = self
            .own()
            .iter()
            .filter_map(|record| record.event.as_ref())
            .skip_while(|event| call(event).is_none_or(|call| call.idempotency_key != key));
        let Some(call) = after.next().and_then(call) else {
            return Err(format!("tool call {key} ran and is not recorded"));
        };
        if call.mediation() != wire::Mediation::RequiresApproval {
            return Ok(());
        }
        let decided = after.find_map(|event| match &event.body {
            Some(Body::ApprovalResult(decision)) if decision.tool_call_id == call.id => Some(decision.approved),
            _ => None,
        });
        match decided {
            Some(true) => Ok(()),
            Some(false) => Err(format!("tool call {key} was denied and ran")),
            None => Err(format!("tool call {key} ran without a decision")),
        }
    }
}

/// The tool call that an event is.
pub(super) fn call(event: &Event) -> Option<&ToolCall> {
    match &event.body {
        Some(Body::Tool(call)) if event.kind() == EventKind::EventToolCall => Some(call),
        _ => None,
    }
}

fn check_against(facts: &Facts, session: &Session) -> Result<(), Broken> {
    let pending = session.pending_approval.as_ref();
    let pending = pending.map(|gate| (gate.execution_id.clone(), gate.tool_call_id.clone(), gate.request_seq as u64));
    let state = match &facts.pending {
        Some(_) => ExecState::ExecAwaiting,
        None if session.last_seq == 0 => ExecState::ExecPending,
        None if facts.canceled => ExecState::ExecCanceled,
        None => ExecState::ExecCompleted,
    };
    if pending != facts.pending || session.compute_state() != facts.compute_state || session.exec_state() != state {
        return Err(format!("the session as of record {} is shown otherwise than {facts:?}", session.last_seq));
    }
    Ok(())
}
