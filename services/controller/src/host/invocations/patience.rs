//! How long the host tries to run an invocation whose harness it cannot reach.

use std::time::Duration;

use tokio::time::Instant;

/// The pauses between tries: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// A try that lasted as long as this was none that failed at once: everything begins anew.
const SUCCESS: Duration = Duration::from_secs(5);
/// How long tries may fail.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// See the module.
#[derive(Debug)]
pub(super) struct Patience {
    pause: Duration,
    since: Option<Instant>,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { pause: PAUSES.0, since: None }
    }

    /// How long to wait after a try that began at `begun` and failed now; `None`: it has been tried long enough.
    pub(super) fn failed(&mut self, begun: Instant) -> Option<Duration> {
        if begun.elapsed() >= SUCCESS {
            *self = Self::new();
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSES.1);
        (since.elapsed() < LIMIT).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_end_after_five_minutes() {
        let (mut patience, begun) = (Patience::new(), Instant::now());
        let mut pauses = Vec::new();
        while let Some(pause) = patience.failed(Instant::now()) {
            pauses.push(pause.as_millis());
            tokio::time::sleep(pause).await;
        }
        assert_eq!(pauses[..8], [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert!((LIMIT..LIMIT + PAUSES.1).contains(&begun.elapsed()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_lasted_begins_everything_anew() {
        let mut patience = Patience::new();
        for _ in 0..5 {
            patience.failed(Instant::now());
        }
        let begun = Instant::now();
        tokio::time::sleep(LIMIT).await;
        assert_eq!(patience.failed(begun), Some(PAUSES.0));
    }
}
