//! What the engine has done, for metrics and load tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// Totals since the store was opened by this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Transactions committed, those without writes not counted.
    pub commits: u64,
    /// Transactions refused because what they read had changed.
    pub conflicts: u64,
    /// Groups of transactions written; each cost one fsync.
    pub groups: u64,
    /// Groups that failed, and the transactions in them with it.
    pub failed_groups: u64,
    /// Times the write-ahead log was copied into the main file.
    pub checkpoints: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) commits: Counter,
    pub(super) conflicts: Counter,
    pub(super) groups: Counter,
    pub(super) failed_groups: Counter,
    pub(super) checkpoints: Counter,
}

#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn snapshot(&self) -> Stats {
        Stats {
            commits: self.commits.get(),
            conflicts: self.conflicts.get(),
            groups: self.groups.get(),
            failed_groups: self.failed_groups.get(),
            checkpoints: self.checkpoints.get(),
        }
    }
}
