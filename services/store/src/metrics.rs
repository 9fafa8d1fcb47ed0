//! What operators see of transactions.

use std::sync::LazyLock;
use std::time::Duration;

use env::{Counters, begin_at_zero, short_durations};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::TransactError;

pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// Why an attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    Conflict,
    Unknown,
    TooOld,
}

pub(crate) struct Metrics {
    transactions: Counters<1>,
    retries: Counters<1>,
    commit_duration: Histogram,
}

/// Adds what this crate measures to `registry`.
pub fn register(registry: &mut Registry) {
    let metrics = &*METRICS;
    registry.register(
        "store_transactions",
        "Transactions by how they ended; aborted: refused by the journal's own rules",
        metrics.transactions.clone(),
    );
    registry.register("store_retries", "Attempts of transactions that were repeated", metrics.retries.clone());
    registry.register_with_unit(
        "store_commit_duration",
        "Time that commits with writes took",
        Unit::Seconds,
        metrics.commit_duration.clone(),
    );
}

impl Metrics {
    fn new() -> Self {
        let metrics = Self {
            transactions: Counters::default(),
            retries: Counters::default(),
            commit_duration: short_durations(),
        };
        let outcomes = ["committed", "aborted", "exhausted", "unknown", "failed"];
        begin_at_zero(&metrics.transactions, "outcome", outcomes);
        let reasons = [Retry::Conflict, Retry::Unknown, Retry::TooOld].map(Retry::label);
        begin_at_zero(&metrics.retries, "reason", reasons);
        metrics
    }

    pub(crate) fn committed(&self, elapsed: Duration) {
        self.commit_duration.observe(elapsed.as_secs_f64());
    }

    pub(crate) fn retried(&self, retry: Retry) {
        self.retries.get_or_create(&[("reason", retry.label())]).inc();
    }

    pub(crate) fn ended<T, E>(&self, result: &Result<T, TransactError<E>>) {
        let outcome = match result {
            Ok(_) => "committed",
            Err(TransactError::Aborted(_)) => "aborted",
            Err(TransactError::Exhausted { .. }) => "exhausted",
            Err(TransactError::Unknown) => "unknown",
            Err(TransactError::Store(_)) => "failed",
        };
        self.transactions.get_or_create(&[("outcome", outcome)]).inc();
    }
}

impl Retry {
    fn label(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Unknown => "unknown",
            Self::TooOld => "too_old",
        }
    }
}
