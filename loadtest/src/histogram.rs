//! How long things took.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Durations to the microsecond, with an error below 0.1 %.
pub struct Durations(Histogram<u64>);

/// What is reported of many durations.
#[derive(Clone, Copy)]
pub struct Summary {
    pub count: u64,
    pub p50: Duration,
    pub p99: Duration,
    pub p999: Duration,
    pub max: Duration,
}

impl Durations {
    pub fn new() -> Self {
        Self(Histogram::new(3).expect("invariant: 3 is a valid precision"))
    }

    pub fn record(&mut self, took: Duration) {
        self.0.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn summary(&self) -> Summary {
        let quantile = |q| Duration::from_micros(self.0.value_at_quantile(q));
        Summary {
            count: self.0.len(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: Duration::from_micros(self.0.max()),
        }
    }
}

/// Milliseconds with as many digits as are worth reading.
pub fn millis(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e3)
}
