//! Writes journals that no host of this version writes: those of older hosts, broken ones, and ones cut short.

use std::collections::BTreeMap;

use env::Env;
use journal::{CreateError, Journal, NewOn, NewSession, SessionUid};
use store::Store;
use wire::{Event, LogRecord};

use crate::NodeBuilder;

/// A second writer of a node's journal.
pub struct Scribe {
    journal: Journal,
}

impl Scribe {
    /// Opens the journal of `node`.
    pub async fn open(node: &NodeBuilder) -> Self {
        let env = Env::system();
        let store = Store::new(node.journal().open().await, env.clone());
        let journal = Journal::open(store, env).await.expect("the journal is one of ours");
        Self { journal }
    }

    /// A session stored on `harness`, with these events as its log.
    pub async fn session(&self, harness: &str, events: Vec<Event>) -> String {
        let created = match self.journal.create(stored_on(harness, NewOn::Static)).await {
            Err(CreateError::HarnessCollision(_)) => self.journal.create(stored_on(harness, NewOn::Registered)).await,
            created => created,
        };
        let session = created.expect("the session is created").uid().to_string();
        if !events.is_empty() {
            self.write(&session, events).await;
        }
        session
    }

    /// A session stored on `harness`, with these records as its log: hashes and fences come out as they are given.
    pub async fn copy(&self, harness: &str, records: &[LogRecord]) -> String {
        let session = self.session(harness, Vec::new()).await;
        let uid = SessionUid::parse(&session).expect("a session uid");
        let mut writer = self.journal.mint(&uid).await.expect("a fence is minted");
        for record in records {
            while writer.fence().to_wire() < record.fence {
                writer = self.journal.mint(&uid).await.expect("a fence is minted");
            }
            let event = record.event.clone().expect("a record has an event");
            let copied = self.journal.append(&mut writer, vec![event]).await.expect("the event is appended");
            assert_eq!(copied, std::slice::from_ref(record));
        }
        session
    }

    /// Appends events under a new fence.
    pub async fn write(&self, session: &str, events: Vec<Event>) -> Vec<LogRecord> {
        let uid = SessionUid::parse(session).expect("a session uid");
        let mut writer = self.journal.mint(&uid).await.expect("a fence is minted");
        self.journal.append(&mut writer, events).await.expect("the events are appended")
    }
}

fn stored_on(harness: &str, harness_source: NewOn) -> NewSession {
    NewSession {
        project: "default".into(),
        name: String::new(),
        harness: harness.into(),
        harness_source,
        model: String::new(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        origin: None,
        identity: None,
    }
}
