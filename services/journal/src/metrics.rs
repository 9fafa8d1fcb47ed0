//! What operators see of appends.

use std::sync::LazyLock;

use env::{Counters, begin_at_zero};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use crate::AppendError;

pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

pub(crate) struct Metrics {
    appends: Counters<1>,
    records: Counter,
}

/// Adds what this crate measures to `registry`.
pub fn register(registry: &mut Registry) {
    let metrics = &*METRICS;
    registry.register(
        "appends",
        "Appends to sessions by how they ended; fenced: another writer has taken the session over",
        metrics.appends.clone(),
    );
    registry.register("records", "Records appended", metrics.records.clone());
}

impl Metrics {
    fn new() -> Self {
        let metrics = Self { appends: Counters::default(), records: Counter::default() };
        let outcomes = ["recorded", "conflict", "fenced", "unknown", "refused", "failed"];
        begin_at_zero(&metrics.appends, "outcome", outcomes);
        metrics
    }

    /// Counts an append of so many records.
    pub(crate) fn appended(&self, records: usize) {
        self.records.inc_by(records as u64);
        self.count("recorded");
    }

    /// Counts an append that came to nothing.
    pub(crate) fn not_appended(&self, error: &AppendError) {
        self.count(match error {
            AppendError::Conflict => "conflict",
            AppendError::Fenced => "fenced",
            AppendError::Unknown => "unknown",
            AppendError::NoSession | AppendError::NotCanonical(_) | AppendError::TooLarge(_) => "refused",
            AppendError::Journal(_) => "failed",
        });
    }

    fn count(&self, outcome: &'static str) {
        self.appends.get_or_create(&[("outcome", outcome)]).inc();
    }
}
