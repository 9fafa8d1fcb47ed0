//! A journal in this process, for measurements below the service.

use std::convert::Infallible;
use std::path::Path;

use env::Env;
use futures::FutureExt;
use journal::{Journal, NewOn, NewSession, Writer};
use store::embedded::{Embedded, EmbeddedOptions, Stats};
use store::{Isolation, KeyRange, Page, RangeRead, Store, TransactError};
use wire::event::Body;
use wire::{Event, EventKind, Message};

/// A journal on the embedded engine.
pub struct LocalJournal {
    pub journal: Journal,
    store: Store,
    engine: Embedded,
}

impl LocalJournal {
    pub async fn open(path: &Path) -> anyhow::Result<Self> {
        let env = Env::system();
        let engine = Embedded::open(path, EmbeddedOptions::default())?;
        let store = Store::new(engine.clone(), env.clone());
        let journal = Journal::open(store.clone(), env).await?;
        Ok(Self { journal, store, engine })
    }

    /// Reads every row of the store, the records' and the few others, and returns how many bytes they have.
    pub async fn scan(&self) -> anyhow::Result<usize> {
        let everything = KeyRange::new([0_u8; 0].as_slice(), [0xff_u8].as_slice());
        let mut next = Some(RangeRead::forward(everything));
        let mut bytes = 0;
        while let Some(read) = next {
            let page = self.page(&read).await?;
            bytes += page.rows.iter().map(|row| row.key.len() + row.value.len()).sum::<usize>();
            next = read.after(&page);
        }
        Ok(bytes)
    }

    async fn page(&self, read: &RangeRead) -> Result<Page, TransactError<Infallible>> {
        self.store
            .transact(|transaction, _| {
                let read = read.clone();
                async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
            })
            .await
    }

    /// What the engine has done so far.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    pub async fn close(self) {
        self.engine.close().await;
    }
}

/// A writer on a session of its own.
pub async fn new_writer(journal: &Journal) -> anyhow::Result<Writer> {
    let session = journal.create(new_session()).await?;
    Ok(journal.mint(session.uid()).await?)
}

/// An OUTPUT with a text of this length.
pub fn output(bytes: usize) -> Event {
    Event::new(EventKind::EventOutput, Body::Message(Message::text("assistant", "x".repeat(bytes))))
}

/// What sessions are created as.
pub fn new_session() -> NewSession {
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
