//! What an engine implements. Modelled on FoundationDB's transactions, so that its client fits without adaptation.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;

use crate::{CommitError, KeyRange, Page, RangeRead, StoreError};

/// Whether a read takes part in conflict detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// The commit conflicts if what was read changed meanwhile.
    Serializable,
    /// Reads the transaction's snapshot without conflicting.
    Snapshot,
}

/// A read-modify-write that does not conflict with others on the same key. Operands are little-endian u64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// Adds, wrapping; an absent value counts as 0.
    Add,
    /// Keeps the larger; an absent value counts as 0.
    Max,
}

/// The place of a commit among all commits: 10 bytes, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Versionstamp(pub [u8; Self::BYTES]);

impl Versionstamp {
    /// Length of a versionstamp within a key.
    pub const BYTES: usize = 10;

    /// The stamp of the `place`th transaction of a batch of commits.
    #[must_use]
    pub fn new(batch: u64, place: u16) -> Self {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&batch.to_be_bytes());
        bytes[8..].copy_from_slice(&place.to_be_bytes());
        Self(bytes)
    }
}

/// Resolves when the watched key may have changed. A hint: it may fire early, and a waiter also polls.
pub type Watch = BoxFuture<'static, Result<(), StoreError>>;

/// A store that can begin transactions.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Begins a transaction.
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError>;

    /// Begins a transaction that may stand back for those of [`begin`](Self::begin) when the store has much to do. An
    /// engine that knows no such thing treats all alike.
    async fn begin_background(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.begin().await
    }
}

#[async_trait]
impl Engine for Arc<dyn Engine> {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        (**self).begin().await
    }

    async fn begin_background(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        (**self).begin_background().await
    }
}

/// One transaction of an engine.
///
/// Reads see the committed state as of the first read, overlaid with the transaction's own writes. Writes are
/// buffered until [`commit`](Self::commit). Dropping a transaction discards it.
#[async_trait]
pub trait EngineTransaction: Send {
    /// The value of `key`.
    async fn get(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError>;

    /// One page of a range.
    async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError>;

    /// Stands for a serializable `get(key)` that returned `value`, without the read: the commit conflicts if it would
    /// have returned something else. An engine may read now, or check at commit.
    async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError>;

    /// Sets `key` to `value`.
    fn set(&mut self, key: &[u8], value: &[u8]);

    /// Removes `key`.
    fn clear(&mut self, key: &[u8]);

    /// Removes every key of `range`.
    fn clear_range(&mut self, range: &KeyRange);

    /// Applies `op` with `operand` to `key` at commit.
    fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64);

    /// Sets the key `prefix ++ versionstamp of this commit ++ suffix` to `value`, after the transaction's other writes
    /// and unseen by its reads.
    fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]);

    /// Watches `key` for a change from the value that this transaction sees at its end. Takes effect when it commits;
    /// fails if it does not.
    fn watch(&mut self, key: &[u8]) -> Watch;

    /// Commits. Answers with the versionstamp if a versionstamped key was set.
    ///
    /// A transaction without writes conflicts only if something it [presumed](Self::presume) does not hold: its reads
    /// were of one snapshot. A limit that a write exceeded is reported here.
    async fn commit(self: Box<Self>) -> Result<Option<Versionstamp>, CommitError>;
}
