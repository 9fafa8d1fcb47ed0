//! The engine for one machine: an ordered map in an SQLite file, with group commit.
//!
//! Reads see a snapshot through a pool of connections. Commits go to one writer at a time, which takes all that wait as
//! one group, checks the reads of each, applies those that hold and commits them with one fsync. Several processes may
//! open the same file.

mod doubt;
mod file;
mod gather;
mod group;
mod keeper;
mod log;
mod places;
mod queue;
mod readers;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod turn;
mod untouched;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use prometheus_client::registry::Registry;

pub use file::OpenError;
pub use stats::Stats;
pub use untouched::open_untouched;

use file::StoreFile;
use keeper::{Keeper, Signal};
use queue::Queue;
use readers::{Lease, Readers};
use stats::{Counters, StatsCollector};
use writer::Writer;

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
    queue: Arc<Queue>,
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
        let readers = Arc::new(Readers::new(file.clone(), options.readers.max(1)));
        let (watches, counters, signal) =
            (Arc::<Watches>::default(), Arc::<Counters>::default(), Arc::<Signal>::default());
        let turn = || file.turn().map_err(|source| file.io(source));
        let (table, log) = (file.writer().map_err(|source| file.sqlite(source))?, file.log());
        let writer = Writer::new(table, turn()?, log, Arc::clone(&watches), Arc::clone(&counters), Arc::clone(&signal));
        let queue = Arc::new(Queue::new(writer));
        let keeper = Keeper {
            places: file.places()?,
            doubt: file.doubt(),
            table: file.copier().map_err(|source| file.sqlite(source))?,
            turn: turn()?,
            signal: Arc::clone(&signal),
            readers: Arc::clone(&readers),
            watches: Arc::clone(&watches),
            queue: Arc::clone(&queue),
            counters: Arc::clone(&counters),
        };
        let shared = Shared { readers, watches, counters, queue, keeper: signal, threads: Mutex::default() };
        let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(run).map_err(|source| file.io(source))
        };
        let queue = Arc::clone(&shared.queue);
        shared.lock_threads().push(start("store-writer", Box::new(move || queue.run()))?);
        shared.lock_threads().push(start("store-keeper", Box::new(move || keeper.run()))?);
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What the store has done since it was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counters.snapshot()
    }

    /// Adds what the store has done to `registry`.
    pub fn register_metrics(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(StatsCollector(Arc::clone(&self.shared.counters))));
    }

    /// Commits what waits, refuses what comes later, and returns once the file is closed.
    pub async fn close(&self) {
        self.shared.readers.close();
        self.shared.keeper.stop();
        self.shared.queue.close();
        let threads = std::mem::take(&mut *self.shared.lock_threads());
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().all(|thread| thread.join().is_ok())).await;
        if !joined.unwrap_or(false) {
            tracing::error!("a thread of the store ended in a panic");
        }
    }
}

impl Shared {
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
        self.queue.commit(commit).await
    }

    fn watches(&self) -> &Watches {
        &self.watches
    }

    fn watches_armed(&self) {
        self.keeper.watches_armed();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.keeper.stop();
        self.queue.close();
    }
}
