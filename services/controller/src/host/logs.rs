//! Logs of sessions as far as this node has read them, so that a turn costs reads only for what is new.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures::TryStreamExt;
use journal::{Journal, Seq, SeqRange, SessionState, SessionUid};
use prost::Message;
use wire::{Event, History, LogRecord};

use super::HostError;
use crate::log::Log;

/// Most bytes of events kept between turns, for all sessions together.
const KEPT_BYTES: usize = 64 << 20;

/// A session's log up to a head: an index, and the events that harnesses get as history.
#[derive(Default)]
pub(super) struct SessionLog {
    pub(super) index: Log,
    pub(super) history: History,
    /// Content hash of the last record; empty for an empty log.
    head_hash: String,
    /// Encoded size of the events.
    bytes: usize,
}

impl SessionLog {
    pub(super) fn head(&self) -> Seq {
        self.index.head()
    }

    /// Adds the records that follow the head.
    pub(super) fn extend(&mut self, records: Vec<LogRecord>) {
        let events: Vec<Event> = records
            .into_iter()
            .map(|record| {
                self.head_hash = record.content_hash;
                record.event.unwrap_or_default()
            })
            .collect();
        for event in &events {
            self.index.push(event);
            self.bytes += event.encoded_len();
        }
        self.history.extend(events);
    }
}

/// Reads logs and keeps the most recently used ones. Cheap to clone; clones share what is kept.
#[derive(Clone)]
pub(super) struct Logs {
    journal: Journal,
    kept: Arc<Mutex<Kept>>,
}

impl Logs {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal, kept: Arc::default() }
    }

    /// The log of a session up to the head of `state`.
    pub(super) async fn load(&self, state: &SessionState) -> Result<SessionLog, HostError> {
        let uid = state.uid();
        let kept = self.kept(|kept| kept.take(uid)).filter(|log| log.head() <= state.last_seq());
        let known = kept.as_ref().map_or(Seq::ZERO, SessionLog::head);
        if known == state.last_seq() {
            return Ok(kept.unwrap_or_default());
        }
        let range = SeqRange { from: known.next(), to: Some(state.last_seq()) };
        let new: Vec<LogRecord> = self.journal.records(uid, range).try_collect().await?;
        let mut log = kept.unwrap_or_default();
        log.extend(new);
        Ok(log)
    }

    /// Keeps a log for the next turn.
    pub(super) fn keep(&self, uid: &SessionUid, log: SessionLog) {
        self.kept(|kept| kept.insert(uid.clone(), log));
    }

    fn kept<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        // What is kept is consistent between any two of its operations, and a lost entry is only read again.
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Least recently used first out.
#[derive(Default)]
struct Kept {
    logs: HashMap<SessionUid, (u64, SessionLog)>,
    by_use: BTreeMap<u64, SessionUid>,
    uses: u64,
    bytes: usize,
}

impl Kept {
    fn take(&mut self, uid: &SessionUid) -> Option<SessionLog> {
        let (last_use, log) = self.logs.remove(uid)?;
        self.by_use.remove(&last_use);
        self.bytes -= log.bytes;
        Some(log)
    }

    fn insert(&mut self, uid: SessionUid, log: SessionLog) {
        self.take(&uid);
        self.uses += 1;
        self.bytes += log.bytes;
        self.by_use.insert(self.uses, uid.clone());
        self.logs.insert(uid, (self.uses, log));
        while self.bytes > KEPT_BYTES {
            let Some(oldest) = self.by_use.first_key_value().map(|(_, uid)| uid.clone()) else { return };
            self.take(&oldest);
        }
    }
}
