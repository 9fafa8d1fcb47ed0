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
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

pub use file::OpenError;
pub use stats::Stats;

use file::StoreFile;
use keeper::{Keeper, Signal};
use readers::{Lease, Readers};
use stats::Counters;
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
    keeper: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Embedded {
    /// Opens the store at `path`, and creates it where there is nothing.
    ///
    /// # Errors
    /// See [`OpenError`]. A file that is not a store of this format is left as it is.
    pub fn open(path: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let file = StoreFile::open(path)?;
        let sqlite = |source| OpenError::Sqlite { path: path.to_path_buf(), source };
        let table = file.writer().map_err(sqlite)?;
        let seen_version = table.data_version().map_err(sqlite)?;

        let readers = Arc::new(Readers::new(file, options.readers.max(1)));
        let watches = Arc::new(Watches::default());
        let counters = Arc::new(Counters::default());
        let signal = Arc::new(Signal::default());
        let (sender, requests) = mpsc::channel(writer::QUEUE);
        let writer =
            Writer { table, requests, watches: Arc::clone(&watches), counters: Arc::clone(&counters), seen_version };
        let keeper = Keeper {
            signal: Arc::clone(&signal),
            readers: Arc::clone(&readers),
            watches: Arc::clone(&watches),
            writer: sender.downgrade(),
        };
        let shared =
            Arc::new(Shared { readers, watches, counters, writer: sender, keeper: signal, threads: Mutex::default() });
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            thread::Builder::new()
                .name(name.into())
                .spawn(run)
                .map_err(|source| OpenError::Io { path: path.to_path_buf(), source })
        };
        let threads = vec![
            spawn("store-writer", Box::new(move || writer.run()))?,
            spawn("store-keeper", Box::new(move || keeper.run()))?,
        ];
        *shared.threads.lock().unwrap_or_else(PoisonError::into_inner) = threads;
        Ok(Self { shared })
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
        // An error means that the writer has stopped already.
        let _ = self.shared.writer.send(Request::Close).await;
        let threads = std::mem::take(&mut *self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().all(|thread| thread.join().is_ok())).await;
        if !joined.unwrap_or(false) {
            tracing::error!("a thread of the store ended in a panic");
        }
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
        let (answer, outcome) = oneshot::channel();
        let request = Request::Commit(Box::new(commit), answer);
        if self.writer.send(request).await.is_err() {
            return Err(StoreError::Unavailable("store is closed".into()).into());
        }
        // The writer answers everything it takes, unless it dies.
        outcome.await.unwrap_or(Err(CommitError::Unknown))
    }

    fn watches(&self) -> &Watches {
        &self.watches
    }

    fn watches_armed(&self) {
        self.keeper.wake();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.keeper.stop();
    }
}
