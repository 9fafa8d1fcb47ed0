//! Logs of sessions as far as this node has read them, so that a turn costs reads only for what is new.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt};
use journal::{Journal, Seq, SeqRange, SessionState, SessionUid};
use prost::Message;
use wire::{Event, History, LogRecord};

use super::HostError;
use crate::log::Log;
use room::{Place, Room};

mod room;

/// Most records that are read before they are added to a log.
const READ_RECORDS: usize = 1_024;
/// What an event takes in memory beside its contents, strings and index included. Measured: 660 to 1,600 bytes.
const EVENT_BYTES: usize = 1024;

/// A session's log up to a head: an index, and the events that harnesses get as history. Cheap to clone; clones share
/// both until one of them grows.
#[derive(Clone, Default)]
pub(super) struct SessionLog {
    pub(super) index: Arc<Log>,
    pub(super) history: History,
    /// Content hash of the last record; empty for an empty log.
    head_hash: String,
    /// What the events take in memory, about.
    bytes: usize,
}

impl SessionLog {
    fn head(&self) -> Seq {
        self.index.head()
    }

    /// Whether the log of `state` can begin with this one.
    fn can_lead_to(&self, state: &SessionState) -> bool {
        let is_head = || state.head_hash().map_or_else(String::new, wire::ContentHash::hex) == self.head_hash;
        self.head() < state.last_seq() || (self.head() == state.last_seq() && is_head())
    }

    /// Whether these records, if there are any, follow the head.
    fn is_continued_by(&self, records: &[LogRecord]) -> bool {
        records
            .first()
            .is_none_or(|first| first.seq == self.head().next().to_wire() && first.prev_hash == self.head_hash)
    }

    /// With its place in memory, for whoever uses it.
    fn at(self, place: Place) -> Self {
        Self { history: self.history.holding(place.settle()), ..self }
    }

    /// Adds the records that follow the head.
    fn extend(&mut self, records: Vec<LogRecord>) {
        let events: Vec<Event> = records
            .into_iter()
            .map(|record| {
                self.head_hash = record.content_hash;
                record.event.unwrap_or_default()
            })
            .collect();
        let index = Arc::make_mut(&mut self.index);
        for event in &events {
            index.push(event);
            self.bytes += event.encoded_len() + EVENT_BYTES;
        }
        self.history.extend(events);
    }
}

/// Reads logs and keeps the most recently used ones. What was read once is read again only if it had to make room, or
/// if the journal now says something else. Cheap to clone; clones share what is kept.
#[derive(Clone)]
pub(super) struct Logs {
    journal: Journal,
    kept: Arc<Mutex<Kept>>,
    room: Room,
}

impl Logs {
    /// Keeps up to `kept` bytes of events in memory, all sessions together, and hands out up to `in_use`.
    pub(super) fn new(journal: Journal, kept: usize, in_use: usize) -> Self {
        Self { journal, kept: Arc::new(Mutex::new(Kept::new(kept))), room: Room::new(in_use) }
    }

    /// The log of a session up to the head of `state`. Its history holds the place in memory that it takes.
    ///
    /// # Errors
    /// [`HostError::NoRoom`] if there is none.
    pub(super) async fn load(&self, state: &SessionState) -> Result<SessionLog, HostError> {
        let (uid, mut place) = (state.uid(), self.room.place());
        let kept = self.kept(|kept| kept.get(uid)).filter(|log| log.can_lead_to(state)).unwrap_or_default();
        if kept.head() == state.last_seq() {
            place.fit(kept.bytes).await?;
            return Ok(kept.at(place));
        }
        // What is kept goes first: while it shares index and events with the log, adding to them would copy both.
        self.kept(|kept| kept.take(uid));
        let mut log = kept;
        loop {
            match self.read_on(&mut log, state, &mut place).await? {
                ReadOn::ToHead => break,
                ReadOn::OfAnother => log = SessionLog::default(),
                ReadOn::NoRoom => {
                    let bytes = log.bytes;
                    // What was read so far does not wait in memory.
                    log = SessionLog::default();
                    place.fit(bytes).await?;
                }
            }
        }
        self.kept(|kept| kept.insert(uid.clone(), log.clone()));
        Ok(log.at(place))
    }

    /// Notes what was appended to a session, if its log is kept up to there.
    pub(super) fn appended(&self, uid: &SessionUid, records: Vec<LogRecord>) {
        let kept = self.kept(|kept| kept.get(uid)).unwrap_or_default();
        if kept.is_continued_by(&records) {
            self.grow(uid, kept, records);
        }
    }

    /// Forgets a session that is no more.
    pub(super) fn forget(&self, uid: &SessionUid) {
        self.kept(|kept| kept.take(uid));
    }

    /// What is kept takes in memory, about, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.kept(|kept| kept.bytes)
    }

    /// Adds what the journal has after the head of `log`, as far as there is room.
    async fn read_on(
        &self,
        log: &mut SessionLog,
        state: &SessionState,
        place: &mut Place,
    ) -> Result<ReadOn, HostError> {
        let is_new = log.head() == Seq::ZERO;
        let range = SeqRange { from: log.head().next(), to: Some(state.last_seq()) };
        let mut read = self.journal.records(state.uid(), range).try_ready_chunks(READ_RECORDS).boxed();
        while let Some(records) = read.try_next().await.map_err(|broken| broken.1)? {
            if !is_new && !log.is_continued_by(&records) {
                return Ok(ReadOn::OfAnother);
            }
            log.extend(records);
            if !place.fit_now(log.bytes).await? {
                return Ok(ReadOn::NoRoom);
            }
        }
        Ok(ReadOn::ToHead)
    }

    /// Keeps `log` with `records` added.
    fn grow(&self, uid: &SessionUid, mut log: SessionLog, records: Vec<LogRecord>) -> SessionLog {
        // What is kept goes first: while it shares index and events with `log`, adding to them would copy both.
        self.kept(|kept| kept.take(uid));
        log.extend(records);
        self.kept(|kept| kept.insert(uid.clone(), log.clone()));
        log
    }

    fn kept<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        // What is kept is consistent between any two of its operations, and a lost entry is only read again.
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How far a log was read.
enum ReadOn {
    ToHead,
    /// Not at all: what the journal has continues another one.
    OfAnother,
    /// As far as there is room without waiting.
    NoRoom,
}

/// Least recently used first out.
struct Kept {
    /// Most bytes of them together.
    limit: usize,
    logs: HashMap<SessionUid, (u64, SessionLog)>,
    by_use: BTreeMap<u64, SessionUid>,
    uses: u64,
    bytes: usize,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self { limit, logs: HashMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0 }
    }

    fn get(&mut self, uid: &SessionUid) -> Option<SessionLog> {
        let log = self.take(uid)?;
        self.insert(uid.clone(), log.clone());
        Some(log)
    }

    fn take(&mut self, uid: &SessionUid) -> Option<SessionLog> {
        let (last_use, log) = self.logs.remove(uid)?;
        self.by_use.remove(&last_use);
        self.bytes -= log.bytes;
        Some(log)
    }

    fn insert(&mut self, uid: SessionUid, log: SessionLog) {
        self.take(&uid);
        if log.bytes > self.limit {
            return;
        }
        self.uses += 1;
        self.bytes += log.bytes;
        self.by_use.insert(self.uses, uid.clone());
        self.logs.insert(uid, (self.uses, log));
        while self.bytes > self.limit {
            let Some(oldest) = self.by_use.first_key_value().map(|(_, uid)| uid.clone()) else { return };
            self.take(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;
    use wire::{EventKind, ExecRequest};

    use super::*;
    use crate::testing::events::Of;
    use crate::testing::host::{World, call};

    fn log_of(events: i64) -> SessionLog {
        let mut log = SessionLog::default();
        let record = |seq| LogRecord {
            seq,
            event: Some(Event { kind: EventKind::EventOutput.into(), ..Event::default() }),
            ..LogRecord::default()
        };
        log.extend((1..=events).map(record).collect());
        log
    }

    #[test]
    fn logs_used_longest_ago_make_room() {
        let uid = |text: &str| SessionUid::parse(text).expect("a uid");
        let mut kept = Kept::new(5 * EVENT_BYTES);
        for name in ["sess-a", "sess-b"] {
            kept.insert(uid(name), log_of(2));
        }
        assert!(kept.get(&uid("sess-a")).is_some(), "both fit");
        kept.insert(uid("sess-c"), log_of(2));
        assert!(kept.get(&uid("sess-b")).is_none(), "it was used longest ago");
        assert!(kept.get(&uid("sess-a")).is_some() && kept.get(&uid("sess-c")).is_some());
        kept.insert(uid("sess-d"), log_of(6));
        assert_eq!(kept.logs.len(), 2, "one that is too large alone is not kept");
    }

    /// Makes the log of the session large enough to be counted.
    async fn enlarge(world: &World) {
        const EVENTS: usize = (20 << 20) / EVENT_BYTES;
        let mut writer = world.journal.mint(&world.session).await.unwrap();
        for _ in 0..EVENTS / 1_000 {
            let events = (0..1_000).map(|_| Of("e").error()).collect();
            world.journal.append(&mut writer, events).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_log_that_is_in_use_leaves_no_room_for_another() {
        let world = World::new().await;
        let logs = Logs::new(world.journal.clone(), 0, 30 << 20);
        enlarge(&world).await;
        let state = world.journal.session(&world.session).await.unwrap().unwrap();

        let first = logs.load(&state).await.unwrap();
        assert!(matches!(logs.load(&state).await, Err(HostError::NoRoom)));
        // The harness has what it is told, and nothing else of the log is large.
        let SessionLog { index, history, .. } = first;
        drop(history);
        assert_eq!(logs.load(&state).await.unwrap().head(), index.head());
    }
    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_room_ends_at_its_deadline() {
        let world = World::new().await;
        enlarge(&world).await;
        let mut others = world.host.logs.room.place();
        others.fit(usize::MAX).await.unwrap();
        let begun = Instant::now();
        let deadline = begun + Duration::from_secs(3);
        let request = ExecRequest {
            session: world.session.to_string(),
            inputs: vec![wire::Message::text("user", "go on")],
            ..ExecRequest::default()
        };
        let mut updates = world.host.exec(request, call(Some(deadline)));
        let mut last = None;
        while let Some(update) = updates.next().await {
            last = Some(update);
        }
        assert!(matches!(last, Some(Err(HostError::DeadlineExceeded))), "{last:?}");
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
    }
}
