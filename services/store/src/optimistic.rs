//! Optimistic transactions: reads of a snapshot, buffered writes, and a commit that checks the reads.
//!
//! Everything about a transaction that does not depend on where the data lies is here, once for every engine that
//! is not a database server of its own.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use crate::limits::{self, Account, TRANSACTION_LIFE};
use crate::range::PageBuilder;
use crate::reads::Reads;
use crate::watches::{PendingWatch, Watches};
use crate::writes::{Overlay, Writes, apply_all};
use crate::{
    AtomicOp, CommitError, EngineTransaction, Isolation, KeyRange, Page, RangeRead, StoreError, Versionstamp, Watch,
};

/// Where the data lies.
pub(crate) trait Backend: Send + Sync + 'static {
    type Snapshot: Snapshot;

    /// A view of the state after every commit that was acknowledged before this call.
    fn snapshot(&self) -> impl Future<Output = Result<Self::Snapshot, StoreError>> + Send;

    /// Applies the writes if the reads hold.
    fn commit(&self, commit: Commit) -> impl Future<Output = Result<Option<Versionstamp>, CommitError>> + Send;

    /// Where to arm the watches of a transaction that has committed.
    fn watches(&self) -> &Watches;

    /// Watches were armed.
    fn watches_armed(&self) {}
}

/// The committed state at one instant. Dropping it frees what it holds.
pub(crate) trait Snapshot: Send + Sync {
    fn get(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;

    fn page(&self, read: &RangeRead) -> impl Future<Output = Result<Page, StoreError>> + Send;
}

/// What a transaction asks to be committed.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    pub(crate) reads: Reads,
    pub(crate) writes: Writes,
    /// Its size, as the limits count it.
    pub(crate) bytes: usize,
}

/// A write to a key of which the transaction presumes what it holds. An engine can check and write in one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swap<'c> {
    pub(crate) key: &'c Bytes,
    pub(crate) from: &'c Bytes,
    pub(crate) to: &'c Bytes,
}

impl Commit {
    /// The swap that this commit contains, if it presumes no more than that.
    pub(crate) fn swap(&self) -> Option<Swap<'_>> {
        let (key, from) = self.reads.only_presumption()?;
        Some(Swap { key, from, to: self.writes.replacement(key)? })
    }
}

/// A transaction on `B`.
pub(crate) struct Optimistic<B: Backend> {
    backend: Arc<B>,
    snapshot: Option<B::Snapshot>,
    started: Option<Instant>,
    commit: Commit,
    account: Account,
    /// A presumption about a key that the transaction itself had written was wrong.
    doomed: bool,
    watches: Vec<PendingWatch>,
}

impl<B: Backend> Optimistic<B> {
    pub(crate) fn new(backend: Arc<B>) -> Self {
        Self {
            backend,
            snapshot: None,
            started: None,
            commit: Commit::default(),
            account: Account::default(),
            doomed: false,
            watches: Vec::new(),
        }
    }

    /// The snapshot, taken at the first read.
    async fn snapshot(&mut self) -> Result<&B::Snapshot, StoreError> {
        self.check_age()?;
        let snapshot = match self.snapshot.take() {
            Some(snapshot) => snapshot,
            None => self.backend.snapshot().await?,
        };
        Ok(self.snapshot.insert(snapshot))
    }

    fn check_age(&mut self) -> Result<(), StoreError> {
        let started = *self.started.get_or_insert_with(Instant::now);
        if started.elapsed() >= TRANSACTION_LIFE { Err(StoreError::TooOld) } else { Ok(()) }
    }

    async fn committed_value(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError> {
        let value = self.snapshot().await?.get(key).await?;
        if isolation == Isolation::Serializable {
            self.account.count_point(key)?;
            self.commit.reads.record(key, value.clone());
        }
        Ok(value)
    }

    async fn committed_page(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        let page = self.snapshot().await?.page(read).await?;
        if isolation == Isolation::Serializable {
            self.account.count_range(&read.covered_by(&page))?;
            self.commit.reads.record_page(read.clone(), page.clone());
        }
        Ok(page)
    }

    /// A page of the committed rows overlaid with the transaction's own writes.
    async fn merged_page(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        let mut merged = PageBuilder::new(read);
        let mut rest = Some(read.clone());
        while let Some(next) = rest.take() {
            let page = self.committed_page(&next, isolation).await?;
            let covered = next.covered_by(&page);
            rest = next.after(&page);
            let mut rows = self.commit.writes.merge(&covered, page.rows);
            if read.reverse {
                rows.reverse();
            }
            for row in rows {
                merged.push(row);
                if merged.is_full() {
                    return Ok(merged.finish());
                }
            }
        }
        Ok(merged.finish())
    }

    /// The values that the transaction sees of the keys that it watches.
    async fn watched_values(&mut self) -> Result<Vec<(PendingWatch, Option<Bytes>)>, StoreError> {
        let watches = std::mem::take(&mut self.watches);
        let mut seen = Vec::with_capacity(watches.len());
        for watch in watches {
            let value = self.get(watch.key(), Isolation::Snapshot).await?;
            seen.push((watch, value));
        }
        Ok(seen)
    }

    async fn commit_writes(&mut self) -> Result<Option<Versionstamp>, CommitError> {
        if self.doomed {
            return Err(CommitError::Conflict);
        }
        if self.commit.writes.is_empty() {
            return self.check_presumptions().await.map(|()| None);
        }
        self.snapshot = None;
        self.commit.bytes = self.account.bytes();
        self.backend.commit(std::mem::take(&mut self.commit)).await
    }

    /// What was presumed must be of the same snapshot as what was read.
    async fn check_presumptions(&mut self) -> Result<(), CommitError> {
        for (key, presumed) in self.commit.reads.take_presumed() {
            if self.committed_value(&key, Isolation::Snapshot).await? != presumed {
                return Err(CommitError::Conflict);
            }
        }
        Ok(())
    }
}

#[async_trait]
impl<B: Backend> EngineTransaction for Optimistic<B> {
    async fn get(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError> {
        limits::check_key(key)?;
        match self.commit.writes.overlay(key) {
            Overlay::Value(value) => Ok(value),
            Overlay::Nothing => self.committed_value(key, isolation).await,
            Overlay::Atomic(ops) => {
                let ops = ops.to_vec();
                let committed = self.committed_value(key, isolation).await?;
                Ok(apply_all(&ops, committed.as_deref()))
            }
        }
    }

    async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        limits::check_range(&read.range)?;
        if self.commit.writes.touches(&read.range) {
            self.merged_page(read, isolation).await
        } else {
            self.committed_page(read, isolation).await
        }
    }

    async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError> {
        limits::check_key(key)?;
        self.check_age()?;
        if let Overlay::Nothing = self.commit.writes.overlay(key) {
            self.account.count_point(key)?;
            self.commit.reads.presume(key, value.cloned());
        } else {
            self.doomed |= self.get(key, Isolation::Serializable).await?.as_ref() != value;
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        if self.account.allows_write(key, value) {
            self.commit.writes.set(key, value);
        }
    }

    fn clear(&mut self, key: &[u8]) {
        if self.account.allows_write(key, &[]) {
            self.commit.writes.clear(key);
        }
    }

    fn clear_range(&mut self, range: &KeyRange) {
        if self.account.allows_clear(range) {
            self.commit.writes.clear_range(range);
        }
    }

    fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        if self.account.allows_write(key, &operand.to_le_bytes()) {
            self.commit.writes.atomic(op, key, operand);
        }
    }

    fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        let key = [prefix, &[0; Versionstamp::BYTES], suffix].concat();
        if self.account.allows_write(&key, value) {
            self.commit.writes.set_versionstamped(prefix, suffix, value);
        }
    }

    fn watch(&mut self, key: &[u8]) -> Watch {
        if let Err(error) = limits::check_key(key) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let (pending, watch) = PendingWatch::new(key);
        self.watches.push(pending);
        watch
    }

    async fn commit(mut self: Box<Self>) -> Result<Option<Versionstamp>, CommitError> {
        self.account.settle()?;
        self.check_age()?;
        let watched = self.watched_values().await?;
        let stamp = self.commit_writes().await?;
        arm(&*self.backend, watched).await;
        Ok(stamp)
    }
}

/// Arms the watches of a committed transaction.
///
/// A change between the transaction's snapshot and the arming would be missed, so whoever armed looks again.
async fn arm<B: Backend>(backend: &B, watched: Vec<(PendingWatch, Option<Bytes>)>) {
    if watched.is_empty() {
        return;
    }
    let mut seen = Vec::with_capacity(watched.len());
    for (watch, value) in watched {
        seen.push((Bytes::copy_from_slice(watch.key()), value));
        backend.watches().arm(watch);
    }
    backend.watches_armed();
    let snapshot = backend.snapshot().await.ok();
    for (key, value) in seen {
        let unchanged = match &snapshot {
            Some(snapshot) => snapshot.get(&key).await.is_ok_and(|now| now == value),
            None => false,
        };
        if !unchanged {
            backend.watches().fire_key(&key);
        }
    }
}
