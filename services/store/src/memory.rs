//! An engine that keeps everything in memory and answers at once: for simulation and for unit tests.
//!
//! It never waits for another thread, so that a run under paused time and one seed repeats exactly.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use crate::optimistic::{Backend, Commit, Optimistic, Snapshot};
use crate::range::PageBuilder;
use crate::tree::{Tree, TreeMut};
use crate::watches::Watches;
use crate::{CommitError, Engine, EngineTransaction, KeyRange, KeyValue, Page, RangeRead, StoreError, Versionstamp};

/// A store in memory. Clones share the data.
#[derive(Clone, Default)]
pub struct Memory {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    watches: Watches,
}

#[derive(Default)]
struct State {
    /// Copied by a commit only while a snapshot holds it.
    rows: Arc<Rows>,
    version: u64,
}

#[derive(Clone, Default)]
struct Rows(BTreeMap<Bytes, Bytes>);

#[async_trait]
impl Engine for Memory {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(Box::new(Optimistic::new(Arc::clone(&self.shared))))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, commit: &Commit) -> Result<Option<Versionstamp>, CommitError> {
        let mut state = self.lock();
        let Ok(holds) = commit.reads.hold_in(&*state.rows);
        if !holds {
            return Err(CommitError::Conflict);
        }
        state.version += 1;
        let stamp = commit.writes.has_versionstamps().then(|| Versionstamp::new(state.version, 0));
        let Ok(()) = commit.writes.apply(Arc::make_mut(&mut state.rows), stamp, None);
        Ok(stamp)
    }
}

impl Backend for Shared {
    type Snapshot = Arc<Rows>;

    async fn snapshot(&self) -> Result<Arc<Rows>, StoreError> {
        Ok(Arc::clone(&self.lock().rows))
    }

    async fn commit(&self, commit: Commit) -> Result<Option<Versionstamp>, CommitError> {
        let stamp = self.apply(&commit)?;
        self.watches.fire(commit.writes.changes());
        Ok(stamp)
    }

    fn watches(&self) -> &Watches {
        &self.watches
    }
}

impl Snapshot for Arc<Rows> {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let Ok(value) = Tree::get(&**self, key);
        Ok(value)
    }

    async fn page(&self, read: &RangeRead) -> Result<Page, StoreError> {
        let Ok(page) = Tree::page(&**self, read);
        Ok(page)
    }
}

impl Rows {
    fn range(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = (&Bytes, &Bytes)> {
        self.0.range::<[u8], _>((Bound::Included(&range.begin[..]), Bound::Excluded(&range.end[..])))
    }
}

impl Tree for Rows {
    type Error = Infallible;

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Infallible> {
        Ok(self.0.get(key).cloned())
    }

    fn page(&self, read: &RangeRead) -> Result<Page, Infallible> {
        let rows = self.range(&read.range);
        Ok(if read.reverse { fill(read, rows.rev()) } else { fill(read, rows) })
    }
}

fn fill<'r>(read: &RangeRead, rows: impl Iterator<Item = (&'r Bytes, &'r Bytes)>) -> Page {
    let mut page = PageBuilder::new(read);
    for (key, value) in rows {
        page.push(KeyValue { key: key.clone(), value: value.clone() });
        if page.is_full() {
            break;
        }
    }
    page.finish()
}

impl TreeMut for Rows {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Infallible> {
        self.0.insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Infallible> {
        self.0.remove(key);
        Ok(())
    }

    fn remove_range(&mut self, range: &KeyRange) -> Result<(), Infallible> {
        let keys: Vec<Bytes> = self.range(range).map(|(key, _)| key.clone()).collect();
        keys.iter().try_for_each(|key| self.remove(key))
    }
}
