//! What operators see of appends and of streams.

use std::sync::LazyLock;

use env::{Counters, begin_at_zero};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use crate::AppendError;
use crate::invocations::Role;

pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

#[derive(Default)]
pub(crate) struct Metrics {
    appends: Counters<1>,
    records: Counter,
    stream_bytes: Counters<1>,
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
    registry.register(
        "stream_bytes",
        "Bytes of the items that were put into streams of invocations, repetitions included, by the role of the stream",
        metrics.stream_bytes.clone(),
    );
}

impl Metrics {
    fn new() -> Self {
        let metrics = Self::default();
        let outcomes = ["recorded", "conflict", "fenced", "unknown", "refused", "failed"];
        begin_at_zero(&metrics.appends, "outcome", outcomes);
        begin_at_zero(&metrics.stream_bytes, "role", [Role::Input, Role::Output].map(Role::label));
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

    /// Counts items that were put into streams of a role.
    pub(crate) fn put(&self, role: Role, bytes: usize) {
        self.stream_bytes.get_or_create(&[("role", role.label())]).inc_by(bytes as u64);
    }

    fn count(&self, outcome: &'static str) {
        self.appends.get_or_create(&[("outcome", outcome)]).inc();
    }
}
