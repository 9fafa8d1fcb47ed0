//! Bounded repetition of calls.

use std::time::Duration;

use env::Env;
use tonic::Code;

use crate::Error;

/// How often, and after which pauses, a call is made again when its node is lost.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Most repetitions in a row without any progress. 0 never repeats.
    pub attempts: u32,
    /// Longest pause before the first repetition; it doubles each time. Pauses are random, from nothing to the longest,
    /// so that the clients of a node that died do not all arrive at the next one together.
    pub first_pause: Duration,
    /// Longest pause before any repetition.
    pub longest_pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 8, first_pause: Duration::from_millis(50), longest_pause: Duration::from_secs(2) }
    }
}

impl Retry {
    /// The pause after `attempts` attempts.
    pub(crate) fn pause(&self, attempts: u32, env: &Env) -> Duration {
        let longest = self.first_pause.saturating_mul(1 << attempts.min(16)).min(self.longest_pause);
        let part = (env.random_u64() >> 32) as u32;
        longest.mul_f64(f64::from(part) / f64::from(u32::MAX))
    }
}

/// Which failures allow a call to be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// To make it twice does no harm: whenever the node is lost.
    Always,
    /// It must be made once: only where no node has begun it.
    Unheard,
}

/// The attempts of one call, or of one stream since it last made progress.
#[derive(Debug)]
pub(crate) struct Attempts {
    repeat: Repeat,
    made: u32,
    /// An earlier attempt may still be under way.
    in_doubt: bool,
}

impl Attempts {
    pub(crate) fn new(repeat: Repeat) -> Self {
        Self { repeat, made: 0, in_doubt: false }
    }

    /// The call got somewhere: the next failure is the first again.
    pub(crate) fn progressed(&mut self) {
        self.made = 0;
    }

    /// Waits before the next attempt, or gives `error` back if it is final or nothing more is to be tried.
    pub(crate) async fn after(&mut self, error: Error, retry: &Retry, env: &Env) -> Result<(), Error> {
        if self.made >= retry.attempts || !self.allow(&error) {
            return Err(error);
        }
        let pause = retry.pause(self.made, env);
        self.made += 1;
        self.in_doubt |= !error.is_unheard();
        tracing::debug!(attempt = self.made, ?pause, %error, "trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }

    fn allow(&self, error: &Error) -> bool {
        match self.repeat {
            Repeat::Unheard => error.is_unheard(),
            // The session may be busy with an earlier attempt, which its node ends once it finds its caller gone.
            Repeat::Always => error.is_broken_connection() || (self.in_doubt && error.code() == Code::Aborted),
        }
    }
}

#[cfg(test)]
mod tests {
    use tonic::Status;

    use super::*;

    fn refused(status: &Status) -> Error {
        Error::from_status(status, "id")
    }

    fn broken() -> Error {
        refused(&Status::from_error("reset".into()))
    }

    async fn attempts(repeat: Repeat, errors: impl IntoIterator<Item = Error>) -> Vec<bool> {
        let retry = Retry { attempts: 3, first_pause: Duration::ZERO, ..Retry::default() };
        let mut attempts = Attempts::new(repeat);
        let mut again = Vec::new();
        for error in errors {
            again.push(attempts.after(error, &retry, &Env::system()).await.is_ok());
        }
        again
    }

    #[tokio::test]
    async fn a_call_that_must_be_made_once_is_repeated_only_where_no_node_has_begun_it() {
        assert_eq!(
            attempts(Repeat::Unheard, [refused(&Status::unavailable("draining")), broken()]).await,
            [true, false]
        );
        assert_eq!(attempts(Repeat::Always, [broken(), broken(), broken(), broken()]).await, [true, true, true, false]);
    }

    #[tokio::test]
    async fn a_busy_session_is_waited_for_only_if_the_call_itself_may_keep_it_busy() {
        let busy = || refused(&Status::aborted("busy"));
        assert_eq!(attempts(Repeat::Always, [busy()]).await, [false]);
        assert_eq!(attempts(Repeat::Always, [broken(), busy(), busy()]).await, [true, true, true]);
        assert_eq!(attempts(Repeat::Always, [refused(&Status::unavailable("draining")), busy()]).await, [true, false]);
    }

    #[tokio::test]
    async fn pauses_grow_to_the_longest_and_are_never_longer() {
        let env = Env::system();
        let retry = Retry::default();
        for attempt in 0..40 {
            let longest = retry.first_pause.saturating_mul(1 << attempt.min(16)).min(retry.longest_pause);
            assert!(retry.pause(attempt, &env) <= longest);
        }
    }
}
