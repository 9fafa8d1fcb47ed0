//! What a harness may take of its host in one run of a turn: patience and attention.

use std::time::Duration;

use env::Env;
use tokio::time::{Instant, timeout, timeout_at};
use wire::{Event, EventKind};

use crate::ports::{HarnessConnection, HarnessFailure, HostFrame};
use crate::turn::{Excess, Input, TurnFailure};

/// Bounds on a harness in one run of a turn. A turn whose harness exceeds one fails; it stays recoverable, and a recovery
/// has the same bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// Longest wait for the harness's next event, or for it to take a frame. What the host does for it in between, model
    /// requests and tool calls, has bounds of its own and does not count.
    pub idle_timeout: Duration,
    /// Most events that are read, those that a host ignores included.
    pub max_events: usize,
}

/// The connection of a turn: every wait for its harness ends, and so does every stream of events.
pub(super) struct LimitedConnection {
    connection: Box<dyn HarnessConnection>,
    limits: TurnLimits,
    events: usize,
}

impl LimitedConnection {
    pub(super) fn new(connection: Box<dyn HarnessConnection>, limits: TurnLimits) -> Self {
        Self { connection, limits, events: 0 }
    }

    /// Sends one frame.
    pub(super) async fn send(&mut self, frame: HostFrame) -> Input {
        let idle = self.limits.idle_timeout;
        match timeout(idle, self.connection.send(frame)).await {
            Ok(Ok(())) => Input::Sent,
            Ok(Err(failure)) => failure.into(),
            Err(_elapsed) => Input::Exceeded(Excess::Unread(idle)),
        }
    }

    /// Reads the next event; `env` mints the id that goes with it.
    pub(super) async fn next(&mut self, env: &Env) -> Input {
        self.next_until(env, Some(Instant::now() + self.limits.idle_timeout)).await
    }

    /// Reads the next event, which may come until then, or whenever it likes. Cancel safe.
    pub(super) async fn next_until(&mut self, env: &Env, deadline: Option<Instant>) -> Input {
        let heard = match deadline {
            Some(deadline) => timeout_at(deadline, self.connection.next()).await,
            None => Ok(self.connection.next().await),
        };
        match heard {
            Ok(Ok(Some(event))) => self.admit(event, env),
            Ok(Ok(None)) => Input::Closed,
            Ok(Err(failure)) => failure.into(),
            Err(_elapsed) => Input::Exceeded(Excess::Silent(self.limits.idle_timeout)),
        }
    }

    /// How long the harness may be silent.
    pub(super) fn patience(&self) -> Duration {
        self.limits.idle_timeout
    }

    /// What an invocation streams is bounded by credit, and does not count.
    fn admit(&mut self, event: Event, env: &Env) -> Input {
        let most = self.limits.max_events;
        if event.kind() == EventKind::EventStream {
            return Input::Event { event, fresh_id: String::new() };
        }
        if self.events == most {
            return Input::Exceeded(Excess::Events(most));
        }
        self.events += 1;
        Input::Event { event, fresh_id: env::execution_id(env) }
    }
}

impl From<HarnessFailure> for Input {
    fn from(failure: HarnessFailure) -> Self {
        match failure.is_lasting() {
            true => Self::Failed(TurnFailure::HarnessUnusable(failure.to_string())),
            false => Self::HarnessFailed(failure.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use async_trait::async_trait;
    use wire::Cancel;

    use super::*;

    const LIMITS: TurnLimits = TurnLimits { idle_timeout: Duration::from_secs(600), max_events: 3 };

    /// Says something every `pause`, if it has one, and reads nothing.
    struct Harness {
        pause: Option<Duration>,
    }

    #[async_trait]
    impl HarnessConnection for Harness {
        async fn send(&mut self, _: HostFrame) -> Result<(), HarnessFailure> {
            pending().await
        }

        async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
            match self.pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => pending().await,
            }
            Ok(Some(Event::default()))
        }
    }

    fn connected(pause: Option<Duration>) -> LimitedConnection {
        LimitedConnection::new(Box::new(Harness { pause }), LIMITS)
    }

    #[tokio::test(start_paused = true)]
    async fn silence_and_frames_that_are_not_taken_are_waited_for_as_long_as_the_limit_and_no_longer() {
        let (env, begun) = (Env::seeded(1), Instant::now());
        let mut silent = connected(None);
        assert!(matches!(silent.next(&env).await, Input::Exceeded(Excess::Silent(_))));
        assert_eq!(begun.elapsed(), LIMITS.idle_timeout);
        let sent = silent.send(HostFrame::Cancel(Cancel::default())).await;
        assert!(matches!(sent, Input::Exceeded(Excess::Unread(_))));
        assert_eq!(begun.elapsed(), 2 * LIMITS.idle_timeout);
    }

    #[tokio::test(start_paused = true)]
    async fn each_event_begins_a_new_wait_and_one_more_than_the_limit_is_too_many() {
        let env = Env::seeded(1);
        let mut talking = connected(Some(LIMITS.idle_timeout - Duration::from_secs(1)));
        for _ in 0..LIMITS.max_events {
            assert!(matches!(talking.next(&env).await, Input::Event { .. }));
        }
        assert!(matches!(talking.next(&env).await, Input::Exceeded(Excess::Events(3))));
    }
}
