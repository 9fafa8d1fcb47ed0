//! When to connect again (protocol.md 20.1): pauses that double from 50 ms to 3 s, for five minutes.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(300);

/// The attempts since a connection was lost.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// When the first of them was.
    since: Option<Duration>,
    made: u32,
    /// When the last of them led to an acceptance, from which nothing has followed yet.
    accepted: Option<Duration>,
}

impl Backoff {
    /// The longest pause before the next attempt; `None` once patience is at its end.
    pub(super) fn next(&mut self, now: Duration) -> Option<Duration> {
        // A server that accepts and breaks the connection at once is not tried for ever.
        if self.accepted.take().is_some_and(|accepted| now.saturating_sub(accepted) >= LONGEST) {
            self.reset();
        }
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) >= PATIENCE {
            return None;
        }
        let pause = FIRST.saturating_mul(1 << self.made.min(16)).min(LONGEST);
        self.made += 1;
        Some(pause)
    }

    /// How long it has gone on.
    pub(super) fn waited(&self, now: Duration) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// The server has accepted.
    pub(super) fn accepted(&mut self, now: Duration) {
        self.accepted = Some(now);
    }

    /// The session goes on.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_three_seconds_and_end_after_five_minutes() {
        let mut backoff = Backoff::default();
        let start = Duration::from_secs(1_000);
        let pauses: Vec<_> = (0..8).map(|_| backoff.next(start).unwrap().as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1_600, 3_000, 3_000]);
        assert!(backoff.next(start + Duration::from_secs(299)).is_some());
        assert_eq!(backoff.next(start + Duration::from_secs(300)), None);
        backoff.reset();
        assert_eq!(backoff.next(start + Duration::from_secs(400)), Some(FIRST));
    }

    #[test]
    fn acceptances_from_which_nothing_follows_do_not_begin_the_pauses_anew() {
        let mut backoff = Backoff::default();
        let at = Duration::from_secs;
        assert_eq!(backoff.next(at(1)), Some(FIRST));
        backoff.accepted(at(2));
        assert_eq!(backoff.next(at(3)), Some(2 * FIRST));
        backoff.accepted(at(4));
        assert_eq!(backoff.next(at(7)), Some(FIRST));
    }
}
