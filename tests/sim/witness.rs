//! The witness sees every commit as it happens, behind all faults, and knows what was promised to whom. It says which
//! promise is broken.
//!
//! | invariant | checked |
//! |---|---|
//! | a log has no gap, its chain verifies, it never changes | with every commit, and as a whole at the end |
//! | fences never fall; a fence has one writer; nothing is appended under an old fence | with every commit |
//! | projections, and the listing of pending approvals, are what the records say | with every commit |
//! | what was acknowledged is there, exactly once; what was refused is not | with every answer, and at the end |
//! | an answer is not older than what was committed before the question | with every answer |
//! | a harness is told the log as it was before its turn | with every run of a turn |
//! | no effect without its intent; once, unless nobody could know that it had happened | with every effect, at the end |
//! | a turn that ended has each of its effects once, in order; no turn goes on after a newer one | at the end |

mod attempts;
mod effects;
mod log;
mod turns;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::TryStreamExt;
use journal::{Journal, PageRequest, PageSize, Seq, SeqRange, SessionState, SessionUid};
use store::{CommitError, Versionstamp};
use tokio::sync::Notify;
use wire::{Event, LogRecord, Session};

use attempts::Attempts;
pub use attempts::{Fate, Marker};
use effects::Effects;
use log::SeenLog;

use crate::scene::Scene;
use crate::trace::Trace;

/// One run of a node, from its start to its death.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    pub node: usize,
    pub start: usize,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}.{}", self.node, self.start)
    }
}

/// A promise that was broken.
type Broken = String;

/// See the module.
pub struct Witness {
    /// Reads the store behind all faults, and never waits.
    journal: Journal,
    trace: Arc<Trace>,
    seen: Mutex<Seen>,
    broken: Notify,
}

#[derive(Default)]
struct Seen {
    logs: BTreeMap<SessionUid, SeenLog>,
    attempts: Attempts,
    effects: Effects,
    broken: Option<Broken>,
}

impl Witness {
    /// A witness of what happens in the store of `journal`.
    pub fn new(journal: Journal, trace: Arc<Trace>) -> Self {
        Self { journal, trace, seen: Mutex::default(), broken: Notify::new() }
    }

    /// Looks at what a commit did, which has just happened or not.
    pub async fn look(&self, run: RunId, written: &[Bytes], outcome: &Result<Option<Versionstamp>, CommitError>) {
        let sessions = sessions_in(written);
        let outcome = outcome.as_ref().map_or_else(ToString::to_string, |_| "done".to_owned());
        self.trace.note(format_args!("{run} commits {} keys of {}: {outcome}", written.len(), names(&sessions)));
        for session in &sessions {
            self.look_at(run, session).await;
        }
        self.check_pending().await;
    }

    async fn look_at(&self, run: RunId, session: &SessionUid) {
        let Some(state) = self.state(session).await else { return };
        let known = self.with(|seen| seen.logs.get(session).map_or(Seq::ZERO, SeenLog::head));
        let new = if state.last_seq() > known { self.records(session, known).await } else { Vec::new() };
        let checked = self.with(|seen| seen.logs.entry(session.clone()).or_default().see(run, &state, new));
        self.expect(checked.map_err(|broken| format!("{session}, written by {run}: {broken}")));
    }

    /// The sessions that wait for an approval are those that are listed so.
    async fn check_pending(&self) {
        let page = PageRequest { size: PageSize::from_wire(500), after: None };
        let listed = self.journal.list_pending(PROJECT, page).await.expect("memory does not fail");
        let mut listed: Vec<_> = listed.sessions.iter().map(|state| state.uid().clone()).collect();
        listed.sort();
        let pending: Vec<_> = self
            .with(|seen| seen.logs.iter().filter(|(_, log)| log.is_pending()).map(|(uid, _)| uid.clone()).collect());
        if listed != pending {
            self.report(format!("listed as pending: {}; they are {}", names(&listed), names(&pending)));
        }
    }

    /// A client was told that this record is in the log.
    pub fn acknowledged(&self, session: &str, record: &LogRecord) {
        let checked = self.of(session, |log| log.check_acknowledged(record));
        self.expect(checked.map_err(|broken| format!("{session}: {broken}")));
    }

    /// The head of a session as of now. A question that is asked now is not answered from before it.
    pub fn head(&self, session: &str) -> usize {
        self.of(session, |log| log.head().get() as usize)
    }

    /// A client was told how a session stands, after it had asked at `asked`.
    pub fn answered(&self, session: &Session, asked: usize) {
        let uid = session.metadata.as_ref().map_or("", |metadata| &metadata.uid);
        let checked = self.of(uid, |log| log.check_session(session, asked));
        self.expect(checked.map_err(|broken| format!("{uid}: {broken}")));
    }

    /// A client was told the records of a session from the first one on, after it had asked at `asked`.
    pub fn replayed(&self, session: &str, records: &[LogRecord], asked: usize) {
        let checked = self.of(session, |log| log.check_replayed(records, asked));
        self.expect(checked.map_err(|broken| format!("{session}: {broken}")));
    }

    /// A harness was told this history before the turn.
    pub fn told(&self, session: &str, execution: &str, history: &[Event]) {
        let checked = self.of(session, |log| log.check_told(execution, history));
        self.expect(checked.map_err(|broken| format!("{session}: {broken}")));
    }

    /// A client has tried to begin a turn.
    pub fn attempted(&self, session: &str, marker: Marker, fate: Fate) {
        self.with(|seen| seen.attempts.note(session, marker, fate));
    }

    /// A model request reached its provider. Returns how often this one has.
    pub fn model_called(&self, request: &str) -> usize {
        self.with(|seen| seen.effects.model_called(request))
    }

    /// A tool call reached its executor.
    pub fn tool_called(&self, session: &SessionUid, key: &str) {
        let checked = self.with(|seen| {
            seen.effects.tool_called(session, key);
            seen.logs.get(session).ok_or_else(|| "a tool ran for no session".to_owned())?.check_intent(key)
        });
        self.expect(checked.map_err(|broken| format!("{session}: {broken}")));
    }

    /// A client was told that its turn was lost to another writer. Then there is one, if the turn had begun.
    pub fn lost(&self, session: &str, marker: &Marker) {
        self.play(Scene::LostTurn);
        if self.of(session, |log| log.fence_of_input(&marker.to_string()) == Some(log.fence())) {
            self.report(format!("{session}: the turn of {marker} was lost, and nobody has taken it over"));
        }
    }

    /// A client was told that the session has this turn.
    pub fn begun(&self, session: &str, execution: &str) {
        if !self.of(session, |log| log.events().iter().any(|event| event.execution_id == execution)) {
            self.report(format!("{session}: turn {execution} is said to be there, and is not"));
        }
    }

    /// A scene was played.
    pub fn play(&self, scene: Scene) {
        self.trace.play(scene);
    }

    /// The events of a session.
    pub fn events(&self, session: &str) -> Vec<Event> {
        self.of(session, |log| log.events().to_vec())
    }

    /// All that can only be known at the end: everything is read again, and counted.
    pub async fn check_all(&self) {
        let sessions = self.sessions().await;
        let known: Vec<_> = self.with(|seen| seen.logs.keys().cloned().collect());
        if sessions != known {
            self.report(format!("listed are {}; there are {}", names(&sessions), names(&known)));
        }
        for session in &sessions {
            let records = self.records(session, Seq::ZERO).await;
            let checked = self.with(|seen| {
                let log = seen.logs.get(session).ok_or("it is listed and was never written")?;
                log.check_unchanged(&records)?;
                turns::check(log)
            });
            self.expect(checked.map_err(|broken| format!("{session}: {broken}")));
        }
        let checked = self.with(|seen| {
            seen.attempts.check(&seen.logs)?;
            seen.effects.check(&seen.logs)
        });
        for _ in 0..self.with(|seen| seen.effects.repeated()) {
            self.play(Scene::RepeatedEffect);
        }
        self.expect(checked);
    }

    /// Every session that is listed.
    pub async fn sessions(&self) -> Vec<SessionUid> {
        let page = PageRequest { size: PageSize::from_wire(500), after: None };
        let page = self.journal.list(PROJECT, page).await.expect("memory does not fail");
        let mut sessions: Vec<_> = page.sessions.iter().map(|state| state.uid().clone()).collect();
        sessions.sort();
        sessions
    }

    /// Says that a promise is broken.
    pub fn report(&self, broken: Broken) {
        self.trace.note(format_args!("BROKEN: {broken}"));
        self.with(|seen| seen.broken.get_or_insert(broken).len());
        self.broken.notify_waiters();
    }

    /// The first broken promise, if there is one.
    pub fn verdict(&self) -> Result<(), Broken> {
        self.with(|seen| seen.broken.clone()).map_or(Ok(()), Err)
    }

    /// Resolves when a promise is broken.
    pub async fn broken(&self) {
        loop {
            let broken = self.broken.notified();
            if self.verdict().is_err() {
                return;
            }
            broken.await;
        }
    }

    /// How many records there are.
    pub fn records_written(&self) -> usize {
        self.with(|seen| seen.logs.values().map(SeenLog::own_len).sum())
    }

    async fn state(&self, session: &SessionUid) -> Option<SessionState> {
        self.journal.session(session).await.expect("memory does not fail")
    }

    async fn records(&self, session: &SessionUid, after: Seq) -> Vec<LogRecord> {
        let records = self.journal.records(session, SeqRange::from(after.next()));
        match records.try_collect().await {
            Ok(records) => records,
            Err(error) => {
                self.report(format!("{session} cannot be read: {error}"));
                Vec::new()
            }
        }
    }

    fn expect(&self, checked: Result<(), Broken>) {
        if let Err(broken) = checked {
            self.report(broken);
        }
    }

    fn of<T>(&self, session: &str, ask: impl FnOnce(&SeenLog) -> T) -> T {
        let none = SeenLog::default();
        self.with(|seen| {
            let uid = SessionUid::parse(session).ok();
            ask(uid.and_then(|uid| seen.logs.get(&uid)).unwrap_or(&none))
        })
    }

    fn with<T>(&self, of: impl FnOnce(&mut Seen) -> T) -> T {
        of(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The project of all sessions.
pub const PROJECT: &str = "default";

/// The sessions whose uid is in one of the keys.
fn sessions_in(keys: &[Bytes]) -> Vec<SessionUid> {
    const PREFIX: &[u8] = b"sess-";
    const DIGITS: usize = 24;
    let mut found: Vec<SessionUid> = Vec::new();
    for key in keys {
        for at in 0..key.len().saturating_sub(PREFIX.len() + DIGITS - 1) {
            let uid = &key[at..at + PREFIX.len() + DIGITS];
            if uid.starts_with(PREFIX)
                && let Ok(uid) = str::from_utf8(uid)
                && let Ok(uid) = SessionUid::parse(uid)
            {
                found.push(uid);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn names(sessions: &[SessionUid]) -> String {
    sessions.iter().map(|uid| uid.as_str()).collect::<Vec<_>>().join(", ")
}
