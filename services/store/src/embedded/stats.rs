//! What the engine has done, for metrics and load tests.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;

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

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: Counter,
    pub(super) conflicts: Counter,
    pub(super) groups: Counter,
    pub(super) failed_groups: Counter,
    pub(super) checkpoints: Counter,
}

#[derive(Debug, Default)]
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

/// Tells the totals to whoever asks for the metrics of the process.
#[derive(Debug)]
pub(super) struct StatsCollector(pub(super) Arc<Counters>);

impl Collector for StatsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stats = self.0.snapshot();
        let totals = [
            ("store_commits", "Transactions with writes that were committed", stats.commits),
            ("store_conflicts", "Transactions refused because what they read had changed", stats.conflicts),
            ("store_groups", "Groups of transactions written, each with one fsync", stats.groups),
            ("store_failed_groups", "Groups of transactions that could not be written", stats.failed_groups),
            ("store_checkpoints", "Times the write-ahead log was copied into the main file", stats.checkpoints),
        ];
        for (name, help, total) in totals {
            let counter = ConstCounter::new(total);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
