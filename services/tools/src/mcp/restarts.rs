//! How soon a server that ended is started again.

use std::time::Duration;

use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A server that served is started again at once; one that keeps ending before it served, after ever longer pauses.
pub(super) struct Restarts {
    in_vain: u32,
    not_before: Instant,
}

impl Restarts {
    /// The server ended, or did not even start.
    pub(super) fn ended(&mut self, served: bool, now: Instant) {
        if served {
            *self = Self { in_vain: 0, not_before: now };
            return;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << self.in_vain.min(16)).min(LONGEST_PAUSE);
        *self = Self { in_vain: self.in_vain.saturating_add(1), not_before: now + pause };
    }

    /// When it may be started.
    pub(super) fn not_before(&self) -> Instant {
        self.not_before
    }
}

impl Default for Restarts {
    fn default() -> Self {
        Self { in_vain: 0, not_before: Instant::now() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_end_once_the_server_served() {
        let now = Instant::now();
        let mut restarts = Restarts::default();
        let mut pause = |served| {
            restarts.ended(served, now);
            restarts.not_before() - now
        };
        assert_eq!([pause(false), pause(false), pause(false)], [1, 2, 4].map(|n| n * FIRST_PAUSE));
        assert_eq!((0..100).map(|_| pause(false)).last(), Some(LONGEST_PAUSE));
        assert_eq!([pause(true), pause(false)], [Duration::ZERO, FIRST_PAUSE]);
    }
}
