//! An engine around an engine that counts what is read, to show what something costs in reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    AtomicOp, CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead, StoreError, Versionstamp,
    Watch,
};

/// An engine that counts reads. Clones share the engine and the counts.
#[derive(Clone)]
pub struct Counted<E> {
    engine: E,
    counts: Arc<Counts>,
}

/// What has been read so far, by transactions that came to nothing too. Presumptions are not reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Keys and pages asked for.
    pub requests: u64,
    /// Rows that were there.
    pub rows: u64,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    rows: AtomicU64,
}

impl<E: Engine> Counted<E> {
    /// Counts what is read of `engine` through this value.
    pub fn new(engine: E) -> Self {
        Self { engine, counts: Arc::default() }
    }

    /// The counts.
    #[must_use]
    pub fn reads(&self) -> Reads {
        Reads { requests: self.counts.requests.load(Ordering::Relaxed), rows: self.counts.rows.load(Ordering::Relaxed) }
    }
}

impl<E> Counted<E> {
    fn count(&self, inner: Box<dyn EngineTransaction>) -> Box<dyn EngineTransaction> {
        Box::new(CountedTransaction { inner, counts: Arc::clone(&self.counts) })
    }
}

impl Counts {
    fn add(&self, rows: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

#[async_trait]
impl<E: Engine> Engine for Counted<E> {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(self.count(self.engine.begin().await?))
    }

    async fn begin_background(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(self.count(self.engine.begin_background().await?))
    }
}

struct CountedTransaction {
    inner: Box<dyn EngineTransaction>,
    counts: Arc<Counts>,
}

#[async_trait]
impl EngineTransaction for CountedTransaction {
    async fn get(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError> {
        let value = self.inner.get(key, isolation).await?;
        self.counts.add(usize::from(value.is_some()));
        Ok(value)
    }

    async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        let page = self.inner.get_range(read, isolation).await?;
        self.counts.add(page.rows.len());
        Ok(page)
    }

    async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError> {
        self.inner.presume(key, value).await
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.inner.set(key, value);
    }

    fn clear(&mut self, key: &[u8]) {
        self.inner.clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.inner.clear_range(range);
    }

    fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        self.inner.atomic(op, key, operand);
    }

    fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        self.inner.set_versionstamped_key(prefix, suffix, value);
    }

    fn watch(&mut self, key: &[u8]) -> Watch {
        self.inner.watch(key)
    }

    async fn commit(self: Box<Self>) -> Result<Option<Versionstamp>, CommitError> {
        self.inner.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[tokio::test]
    async fn reads_are_counted_and_writes_and_presumptions_are_not() {
        let engine = Counted::new(Memory::default());
        let mut transaction = engine.begin().await.unwrap();
        transaction.set(b"a", b"1");
        transaction.set(b"b", b"2");
        transaction.commit().await.unwrap();
        let mut transaction = engine.begin().await.unwrap();
        transaction.presume(b"a", None).await.unwrap();
        assert_eq!(engine.reads(), Reads::default());
        transaction.get(b"a", Isolation::Snapshot).await.unwrap();
        transaction.get(b"c", Isolation::Snapshot).await.unwrap();
        assert_eq!(engine.reads(), Reads { requests: 2, rows: 1 });
        let everything = RangeRead::forward(KeyRange::new([0_u8].as_slice(), [0xff_u8].as_slice()));
        transaction.get_range(&everything, Isolation::Snapshot).await.unwrap();
        assert_eq!(engine.reads(), Reads { requests: 3, rows: 3 });
    }
}
