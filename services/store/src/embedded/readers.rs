//! A bounded pool of connections that hold snapshots.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use rusqlite::ErrorCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::file::StoreFile;
use super::table::Table;
use crate::limits::TRANSACTION_LIFE;
use crate::optimistic::Snapshot;
use crate::tree::Tree;
use crate::{Page, RangeRead, StoreError};

/// Pages up to this many rows are read on the calling thread; larger ones on a blocking thread.
const INLINE_ROWS: usize = 16;

/// The pool.
pub(super) struct Readers {
    file: StoreFile,
    slots: Vec<Mutex<Slot>>,
    /// Slots that hold no snapshot. The last one used is the next, as its pages are the warmest.
    free: Mutex<Vec<usize>>,
    permits: Arc<Semaphore>,
}

/// One connection of the pool.
#[derive(Default)]
struct Slot {
    /// Opened when it is first needed.
    table: Option<Table>,
    /// Since when it holds a snapshot; `None` also once that has been taken away.
    since: Option<Instant>,
}

/// One slot of the pool, and the snapshot that it holds.
pub(super) struct Lease {
    inner: Arc<Leased>,
}

struct Leased {
    readers: Arc<Readers>,
    slot: usize,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub(super) fn new(file: StoreFile, size: usize) -> Self {
        Self {
            file,
            slots: (0..size).map(|_| Mutex::default()).collect(),
            free: Mutex::new((0..size).collect()),
            permits: Arc::new(Semaphore::new(size)),
        }
    }

    /// Takes a snapshot, once a connection is free.
    pub(super) async fn lease(self: &Arc<Self>) -> Result<Lease, StoreError> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_permit().await?,
        };
        let Some(slot) = lock(&self.free).pop() else {
            return Err(StoreError::Engine("reader pool is out of step".into()));
        };
        let leased = Leased { readers: Arc::clone(self), slot, _permit: permit };
        leased.begin()?;
        Ok(Lease { inner: Arc::new(leased) })
    }

    async fn wait_for_permit(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        // Whoever holds a connection must give it back within the life of a transaction.
        match timeout(TRANSACTION_LIFE, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(StoreError::Unavailable("store is closed".into())),
            Err(_) => Err(StoreError::TooOld),
        }
    }

    /// Takes the snapshot from every transaction that has outlived its time, as it keeps the WAL from being reused.
    pub(super) fn end_expired(&self) {
        for slot in &self.slots {
            // A slot that is locked is being read: it is looked at again next time.
            let Ok(mut slot) = slot.try_lock() else { continue };
            if slot.since.is_some_and(|since| since.elapsed() > TRANSACTION_LIFE) {
                slot.end();
            }
        }
    }

    /// Refuses new snapshots and closes the connections that hold none.
    pub(super) fn close(&self) {
        self.permits.close();
        for &slot in lock(&self.free).iter() {
            lock(&self.slots[slot]).table = None;
        }
    }
}

impl Leased {
    fn begin(&self) -> Result<(), StoreError> {
        let mut slot = lock(&self.readers.slots[self.slot]);
        let table = match slot.table.take() {
            Some(table) => table,
            None => self.readers.file.reader().map_err(failed)?,
        };
        let table = slot.table.insert(table);
        table.begin_read().map_err(failed)?;
        slot.since = Some(Instant::now());
        Ok(())
    }

    fn read<T>(&self, read: impl FnOnce(&Table) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let slot = lock(&self.readers.slots[self.slot]);
        match (&slot.table, slot.since) {
            (Some(table), Some(_)) => read(table).map_err(failed),
            _ => Err(StoreError::TooOld),
        }
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        let mut slot = lock(&self.readers.slots[self.slot]);
        slot.end();
        if self.readers.permits.is_closed() {
            slot.table = None;
        }
        drop(slot);
        lock(&self.readers.free).push(self.slot);
    }
}

impl Slot {
    /// Ends the snapshot. A connection that cannot is of no use any more.
    fn end(&mut self) {
        self.since = None;
        if self.table.as_ref().is_some_and(|table| table.roll_back().is_err()) {
            self.table = None;
        }
    }
}

impl Snapshot for Lease {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.read(|table| table.get(key))
    }

    async fn page(&self, read: &RangeRead) -> Result<Page, StoreError> {
        // Most ranges turn out to be short, whatever the limit.
        let short = read.clone().limit(read.limit.min(INLINE_ROWS));
        let page = self.inner.read(|table| table.page(&short))?;
        if !page.more || read.limit <= INLINE_ROWS {
            return Ok(page);
        }
        let (leased, read) = (Arc::clone(&self.inner), read.clone());
        let page = tokio::task::spawn_blocking(move || leased.read(|table| table.page(&read))).await;
        page.unwrap_or_else(|_| Err(StoreError::Unavailable("reader was stopped".into())))
    }
}

#[allow(clippy::needless_pass_by_value, reason = "fits map_err")]
fn failed(error: rusqlite::Error) -> StoreError {
    StoreError::Engine(match error.sqlite_error() {
        // The whole text has the path of the file, and clients are told this.
        Some(code) if code.code == ErrorCode::CannotOpen => code.to_string(),
        _ => error.to_string(),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic could leave half done here is a transaction, and the next user of the slot ends it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
