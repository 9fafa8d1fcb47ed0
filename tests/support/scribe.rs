//! Writes journals that no host of this version writes: those of older hosts, broken ones, and ones cut short.

use env::Env;
use journal::{Journal, NewOn, NewSession, SessionUid};
use store::Store;
use store::embedded::{Embedded, EmbeddedOptions};
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
        let engine = Embedded::open(node.journal(), EmbeddedOptions::default()).expect("the journal opens");
        let journal = Journal::open(Store::new(engine, env.clone()), env).await.expect("the journal is one of ours");
        Self { journal }
    }

    /// A session stored on `harness`, with these events as its log.
    pub async fn session(&self, harness: &str, events: Vec<Event>) -> String {
        let new = NewSession {
            project: "default".into(),
            name: String::new(),
            harness: harness.into(),
            harness_source: NewOn::Static,
            model: String::new(),
            labels: Default::default(),
            annotations: Default::default(),
            origin: None,
            identity: None,
        };
        let session = self.journal.create(new).await.expect("the session is created").uid().to_string();
        self.write(&session, events).await;
        session
    }

    /// Appends events under a new fence.
    pub async fn write(&self, session: &str, events: Vec<Event>) -> Vec<LogRecord> {
        let uid = SessionUid::parse(session).expect("a session uid");
        let mut writer = self.journal.mint(&uid).await.expect("a fence is minted");
        self.journal.append(&mut writer, events).await.expect("the events are appended")
    }
}
