//! The shapes of what is measured for operators. Each crate has a `metrics` module with its own measures; what they mean is
//! in docs/operations.md. They belong to the process, as it is what an operator looks at: two nodes in one process are
//! counted together.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

/// Names and values of labels, all from small sets that are known beforehand: never anything that a caller chooses.
pub type Labels<const N: usize> = [(&'static str, &'static str); N];

/// A counter for each set of labels.
pub type Counters<const N: usize> = Family<Labels<N>, Counter>;

/// Lengths of time by one label.
pub type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// Upper bounds of buckets for what a caller waits for, in seconds: a millisecond to ten minutes.
const BUCKETS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0];

/// Upper bounds of buckets for what a disk or a database does, in seconds: 100 µs to 5 s.
const SHORT_BUCKETS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Lengths of time by one label, a millisecond to ten minutes.
#[must_use]
pub fn durations() -> Durations {
    Family::new_with_constructor(|| Histogram::new(BUCKETS))
}

/// Lengths of time of one kind, 100 µs to 5 s.
#[must_use]
pub fn short_durations() -> Histogram {
    Histogram::new(SHORT_BUCKETS)
}

/// Counts from zero whatever may be counted under `label`, so that the first time is seen as a change.
pub fn begin_at_zero(counters: &Counters<1>, label: &'static str, values: impl IntoIterator<Item = &'static str>) {
    for value in values {
        drop(counters.get_or_create(&[(label, value)]));
    }
}

/// Adds a length of time under `labels`.
pub fn observe(durations: &Durations, labels: &Labels<1>, elapsed: Duration) {
    durations.get_or_create(labels).observe(elapsed.as_secs_f64());
}
