//! A journal in this process, for measurements below the service.

use std::path::Path;

use env::Env;
use journal::{Journal, NewOn, NewSession, Writer};
use store::Store;
use store::embedded::{Embedded, EmbeddedOptions, Stats};
use wire::event::Body;
use wire::{Event, EventKind, Message};

/// A journal on the embedded engine.
pub struct LocalJournal {
    pub journal: Journal,
    engine: Embedded,
}

impl LocalJournal {
    pub async fn open(path: &Path) -> anyhow::Result<Self> {
        let env = Env::system();
        let engine = Embedded::open(path, EmbeddedOptions::default())?;
        let journal = Journal::open(Store::new(engine.clone(), env.clone()), env).await?;
        Ok(Self { journal, engine })
    }

    /// A writer on a session of its own.
    pub async fn new_writer(&self) -> anyhow::Result<Writer> {
        let session = self.journal.create(new_session()).await?;
        Ok(self.journal.mint(session.uid()).await?)
    }

    /// What the engine has done so far.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    pub async fn close(self) {
        self.engine.close().await;
    }
}

/// An OUTPUT with a text of this length.
pub fn output(bytes: usize) -> Event {
    Event::new(EventKind::EventOutput, Body::Message(Message::text("assistant", "x".repeat(bytes))))
}

fn new_session() -> NewSession {
    NewSession {
        project: "loadtest".into(),
        name: String::new(),
        harness: "echo".into(),
        harness_source: NewOn::Static,
        model: String::new(),
        labels: Default::default(),
        annotations: Default::default(),
        origin: None,
        identity: None,
    }
}
