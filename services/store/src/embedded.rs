//! The engine for one machine: an ordered map in an SQLite file, with group commit.
//!
//! Reads see a snapshot through a pool of connections. Commits go to one writer thread, which takes all that wait as
//! one group, checks the reads of each, applies those that hold and commits them with one fsync. Several processes may
//! open the same file.

mod file;
mod group;
mod keeper;
mod readers;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod turn;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc, oneshot};

pub use file::OpenError;
pub use stats::Stats;

use file::StoreFile;
use keeper::{Keeper, Signal};
use readers::{Lease, Readers};
use stats::Counters;
use table::Table;
use turn::Turn;
use writer::{Request, Writer};

use crate::optimistic::{Backend, Commit, Optimistic};
use crate::watches::Watches;
use crate::{CommitError, Engine, EngineTransaction, StoreError, Versionstamp};

/// How an [`Embedded`] store runs.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedOptions {
    /// Most transactions that may hold a snapshot at once; others wait. Each costs a connection with its page cache.
    /// Default 32.
    pub readers: usize,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self { readers: 32 }
    }
}

/// A store in a file. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub struct Embedded {
    shared: Arc<Shared>,
}

struct Shared {
    readers: Arc<Readers>,
    watches: Arc<Watches>,
    counters: Arc<Counters>,
    writer: mpsc::Sender<Request>,
    queue_bytes: Semaphore,
    keeper: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Embedded {
    /// Opens the store at `path`, and creates it where there is nothing.
    ///
    /// # Errors
    /// See [`OpenError`]. A file that is not a store of this format is left as it is.
    pub fn open(path: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Self, OpenError> {
        let file = StoreFile::open(path.as_ref())?;
        let (writer, requests) = mpsc::channel(writer::QUEUE);
        let shared = Shared {
            readers: Arc::new(Readers::new(file.clone(), options.readers.max(1))),
            watches: Arc::default(),
            counters: Arc::default(),
            writer,
            queue_bytes: Semaphore::new(writer::QUEUE_BYTES as usize),
            keeper: Arc::default(),
            threads: Mutex::default(),
        };
        let turn = file.turn().map_err(|source| file.io(source))?;
        let writer = shared.writer_state(file.writer().map_err(|source| file.sqlite(source))?, turn, requests);
        let keeper = shared.keeper_state(file.writer().map_err(|source| file.sqlite(source))?);
        let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(run).map_err(|source| file.io(source))
        };
        shared.lock_threads().push(start("store-writer", Box::new(move || writer.run()))?);
        shared.lock_threads().push(start("store-keeper", Box::new(move || keeper.run()))?);
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What the store has done since it was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counters.snapshot()
    }

    /// Commits what waits, refuses what comes later, and returns once the file is closed.
    pub async fn close(&self) {
        self.shared.readers.close();
        self.shared.keeper.stop();
        self.shared.queue_bytes.close();
        // An error means that the writer has stopped already.
        let _ = self.shared.writer.send(Request::Close).await;
        let threads = std::mem::take(&mut *self.shared.lock_threads());
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().all(|thread| thread.join().is_ok())).await;
        if !joined.unwrap_or(false) {
            tracing::error!("a thread of the store ended in a panic");
        }
    }
}

impl Shared {
    fn writer_state(&self, table: Table, turn: Turn, requests: mpsc::Receiver<Request>) -> Writer {
        let (watches, counters, keeper) =
            (Arc::clone(&self.watches), Arc::clone(&self.counters), Arc::clone(&self.keeper));
        Writer::new(table, turn, requests, watches, counters, keeper)
    }

    fn keeper_state(&self, table: Table) -> Keeper {
        Keeper {
            table,
            signal: Arc::clone(&self.keeper),
            readers: Arc::clone(&self.readers),
            watches: Arc::clone(&self.watches),
            writer: self.writer.downgrade(),
        }
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Engine for Embedded {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(Box::new(Optimistic::new(Arc::clone(&self.shared))))
    }
}

impl Backend for Shared {
    type Snapshot = Lease;

    async fn snapshot(&self) -> Result<Lease, StoreError> {
        self.readers.lease().await
    }

    async fn commit(&self, commit: Commit) -> Result<Option<Versionstamp>, CommitError> {
        let bytes = u32::try_from(commit.bytes).unwrap_or(u32::MAX).min(writer::QUEUE_BYTES);
        let Ok(_place) = self.queue_bytes.acquire_many(bytes).await else {
            return Err(closed().into());
        };
        let (answer, outcome) = oneshot::channel();
        let request = Request::Commit(Box::new(commit), answer);
        if self.writer.send(request).await.is_err() {
            return Err(closed().into());
        }
        // The writer answers everything it takes, unless it dies.
        outcome.await.unwrap_or(Err(CommitError::Unknown))
    }

    fn watches(&self) -> &Watches {
        &self.watches
    }

    fn watches_armed(&self) {
        self.keeper.watches_armed();
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("store is closed".into())
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.keeper.stop();
    }
}
