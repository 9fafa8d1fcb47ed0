//! Bounded repetition of calls that change nothing.

use std::future::Future;
use std::time::Duration;

use crate::Error;

/// How often, and after which pauses, a read is tried again when the connection broke.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Most repetitions in a row without any progress. 0 never repeats.
    pub attempts: u32,
    /// Pause before the first repetition; it doubles each time.
    pub first_pause: Duration,
    /// Longest pause.
    pub longest_pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, first_pause: Duration::from_millis(50), longest_pause: Duration::from_secs(2) }
    }
}

/// The repetitions of one call, or of one stream since it last made progress.
#[derive(Debug, Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// The call got somewhere: the next failure is the first again.
    pub(crate) fn progressed(&mut self) {
        self.0 = 0;
    }

    /// Waits before the next attempt, or gives `error` back if it is final or nothing more is to be tried.
    pub(crate) async fn after(&mut self, error: Error, retry: &Retry) -> Result<(), Error> {
        if !error.is_broken_connection() || self.0 >= retry.attempts {
            return Err(error);
        }
        let pause = retry.first_pause.saturating_mul(1 << self.0.min(16)).min(retry.longest_pause);
        self.0 += 1;
        tracing::debug!(attempt = self.0, ?pause, %error, "the connection broke; trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Repeats `call` under `retry` until it succeeds or fails for good.
pub(crate) async fn repeat<T, F>(retry: &Retry, mut call: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut attempts = Attempts::default();
    loop {
        match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => attempts.after(error, retry).await?,
        }
    }
}
