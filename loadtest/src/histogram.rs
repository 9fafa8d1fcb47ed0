//! How long things took.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Durations from a microsecond to an hour, with an error below 0.1 %.
pub struct Durations(Histogram<u64>);

/// In microseconds.
const HOUR: u64 = 3_600_000_000;

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
        Self(Histogram::new_with_max(HOUR, 3).expect("invariant: 3 digits up to an hour are a valid histogram"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut durations = Durations::new();
        (1..=1000).for_each(|ms| durations.record(Duration::from_millis(ms)));
        let summary = durations.summary();
        let near = |found: Duration, ms: u64| found.abs_diff(Duration::from_millis(ms)) < Duration::from_millis(2);
        assert!(near(summary.p50, 500) && near(summary.p99, 990) && near(summary.p999, 999) && near(summary.max, 1000));
        assert_eq!((summary.count, millis(Duration::from_micros(1234))), (1000, "1.23".to_owned()));
    }

    #[test]
    fn what_took_longer_than_an_hour_is_still_counted() {
        let mut durations = Durations::new();
        durations.record(Duration::MAX);
        assert_eq!(durations.summary().count, 1);
    }
}
