//! Who waits for which key to change.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use tokio::sync::oneshot;

use crate::writes::Change;
use crate::{StoreError, Watch};

/// Most watches that may wait at once; FoundationDB's default.
pub(crate) const MAX_WATCHES: usize = 10_000;

/// The armed watches of one engine.
#[derive(Default)]
pub(crate) struct Watches {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    keys: BTreeMap<Bytes, Vec<Waiter>>,
    count: usize,
}

type Waiter = oneshot::Sender<Result<(), StoreError>>;

/// A watch of a transaction that has not committed. Dropping it fails the watch.
pub(crate) struct PendingWatch {
    key: Bytes,
    waiter: Waiter,
}

impl PendingWatch {
    pub(crate) fn new(key: &[u8]) -> (Self, Watch) {
        let (waiter, changed) = oneshot::channel();
        let watch = changed.map(|change| change.unwrap_or_else(|_| Err(not_armed())));
        (Self { key: Bytes::copy_from_slice(key), waiter }, watch.boxed())
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }
}

pub(crate) fn not_armed() -> StoreError {
    StoreError::Unavailable("the watching transaction did not commit, or the store closed".into())
}

pub(crate) fn too_many() -> StoreError {
    StoreError::Unavailable("too many watches".into())
}

impl Watches {
    /// Lets `pending` wait, or fails it where too many do.
    pub(crate) fn arm(&self, pending: PendingWatch) {
        let mut waiting = self.lock();
        if waiting.count >= MAX_WATCHES {
            waiting.forget_dropped();
        }
        if waiting.count >= MAX_WATCHES {
            // An error means that the watch was dropped meanwhile, which is as good.
            let _ = pending.waiter.send(Err(too_many()));
            return;
        }
        waiting.count += 1;
        waiting.keys.entry(pending.key).or_default().push(pending.waiter);
    }

    /// Resolves the watches on what a commit changed.
    pub(crate) fn fire<'w>(&self, changes: impl Iterator<Item = Change<'w>>) {
        let mut waiting = self.lock();
        if waiting.count == 0 {
            return;
        }
        for change in changes {
            match change {
                Change::Key(key) => waiting.fire(key),
                Change::Range(begin, end) => waiting.fire_range(begin, end),
            }
        }
    }

    /// Resolves the watches on `key`.
    pub(crate) fn fire_key(&self, key: &[u8]) {
        self.lock().fire(key);
    }

    /// Resolves every watch: something changed, and it is not known what.
    pub(crate) fn fire_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        all.keys.into_values().for_each(notify);
    }

    /// Forgets the watches whose futures were dropped. Returns how many still wait.
    pub(crate) fn forget_dropped(&self) -> usize {
        let mut waiting = self.lock();
        waiting.forget_dropped();
        waiting.count
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No code that can panic runs while the lock is held with the count out of step.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn fire(&mut self, key: &[u8]) {
        if let Some(waiters) = self.keys.remove(key) {
            self.count -= waiters.len();
            notify(waiters);
        }
    }

    fn fire_range(&mut self, begin: &[u8], end: &[u8]) {
        let range = (Bound::Included(begin), Bound::Excluded(end));
        let keys: Vec<Bytes> = self.keys.range::<[u8], _>(range).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.fire(key));
    }

    fn forget_dropped(&mut self) {
        self.keys.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_closed());
            !waiters.is_empty()
        });
        self.count = self.keys.values().map(Vec::len).sum();
    }
}

fn notify(waiters: Vec<Waiter>) {
    for waiter in waiters {
        // An error means that the watch was dropped: nobody waits.
        let _ = waiter.send(Ok(()));
    }
}
