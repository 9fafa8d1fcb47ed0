//! Whether a call is sent again.

use std::time::Duration;

use egress::Failure;
use env::Env;
use tokio::time::sleep;

use crate::call::CallError;

/// How often, and after what wait first; doubled each time, half of it random.
const RETRIES: u32 = 2;
const BACKOFF: Duration = Duration::from_millis(250);

/// The repetitions of one call. Only a call for which there was no connection is sent again: any other may have arrived.
pub(crate) struct Retries<'a> {
    env: &'a Env,
    made: u32,
}

impl<'a> Retries<'a> {
    pub(crate) fn new(env: &'a Env) -> Self {
        Self { env, made: 0 }
    }

    /// Waits if the call that failed with `error` is to be sent again; else gives the error back.
    pub(crate) async fn or_fail(&mut self, error: CallError) -> Result<(), CallError> {
        if self.made == RETRIES || !matches!(error, CallError::Unanswered(Failure::Connect(_))) {
            return Err(error);
        }
        let whole = BACKOFF * (1 << self.made);
        self.made += 1;
        let random = u32::try_from(self.env.random_u64() >> 32).unwrap_or_default();
        sleep(whole / 2 + whole.mul_f64(f64::from(random) / f64::from(u32::MAX) / 2.0)).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_without_a_connection_is_sent_again_a_few_times() {
        let env = Env::seeded(1);
        let mut retries = Retries::new(&env);
        let refused = || CallError::from(Failure::Connect("refused".into()));
        for whole in [BACKOFF, 2 * BACKOFF] {
            let start = Instant::now();
            retries.or_fail(refused()).await.unwrap();
            let waited = start.elapsed();
            assert!(waited >= whole / 2 && waited <= whole + Duration::from_millis(1), "{waited:?}");
        }
        assert_eq!(retries.or_fail(refused()).await, Err(refused()));
    }

    #[tokio::test]
    async fn a_call_that_may_have_arrived_is_not_sent_again() {
        let env = Env::seeded(1);
        for error in [Failure::Lost.into(), CallError::Ended, CallError::Status(503), CallError::TooLong(1)] {
            let text = error.to_string();
            assert_eq!(Retries::new(&env).or_fail(error).await.unwrap_err().to_string(), text);
        }
    }
}
