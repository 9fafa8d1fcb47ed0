//! Whether, and after what wait, a request is sent again.

use std::time::{Duration, UNIX_EPOCH};

use egress::Failure;
use env::Env;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::error::CallError;
use crate::ModelConfig;

/// Doubling stops here.
const MAX_DOUBLINGS: u32 = 5;

/// Sends again only what nothing was received for: no connection, or a connection lost before the head of an answer.
/// A refusal counts as nothing only where the provider itself says when to come back.
#[derive(Debug)]
pub(super) struct RetryPolicy {
    retries: u32,
    backoff: Duration,
    retry_after_limit: Duration,
}

impl RetryPolicy {
    pub(super) fn new(config: &ModelConfig) -> Self {
        Self { retries: config.retries, backoff: config.retry_backoff, retry_after_limit: config.retry_after_limit }
    }

    /// How long to wait after attempt number `attempt` (from 0) failed with `error`; `None`: it stays failed.
    pub(super) fn delay(&self, attempt: u32, error: &CallError, env: &Env) -> Option<Duration> {
        if attempt >= self.retries {
            return None;
        }
        let backoff = self.backoff.saturating_mul(1 << attempt.min(MAX_DOUBLINGS));
        match error {
            CallError::Unanswered(Failure::Connect(_) | Failure::Lost) => Some(backoff / 2 + jitter(backoff / 2, env)),
            // Never earlier than told, and not all at the same instant.
            CallError::Refused {
                status: StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE,
                retry_after: Some(wait),
                ..
            } if *wait <= self.retry_after_limit => Some(*wait + jitter(self.backoff, env)),
            _ => None,
        }
    }
}

/// The wait that `Retry-After` asks for, in either of its forms.
pub(super) fn retry_after(headers: &HeaderMap, env: &Env) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(at.saturating_sub(env.unix_time()))
}

/// A random wait shorter than `below`.
fn jitter(below: Duration, env: &Env) -> Duration {
    let nanos = u64::try_from(below.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(env.random_u64() % nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn policy() -> RetryPolicy {
        RetryPolicy { retries: 3, backoff: SECOND, retry_after_limit: 20 * SECOND }
    }

    fn refused(status: u16, retry_after: Option<u64>) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        CallError::Refused { status, message: String::new(), retry_after: retry_after.map(Duration::from_secs) }
    }

    #[tokio::test]
    async fn the_wait_doubles_and_half_of_it_is_random() {
        let env = Env::seeded(1);
        for _ in 0..100 {
            for (attempt, whole) in [(0, SECOND), (1, 2 * SECOND), (2, 4 * SECOND)] {
                let delay = policy().delay(attempt, &Failure::Lost.into(), &env).unwrap();
                assert!(delay >= whole / 2 && delay < whole, "{attempt}: {delay:?}");
            }
        }
        assert_eq!(policy().delay(3, &Failure::Lost.into(), &env), None);
    }

    #[tokio::test]
    async fn a_provider_that_says_when_to_come_back_is_asked_then_and_not_earlier() {
        let env = Env::seeded(1);
        for status in [429, 503] {
            let delay = policy().delay(0, &refused(status, Some(20)), &env).unwrap();
            assert!(delay >= 20 * SECOND && delay < 21 * SECOND, "{delay:?}");
            assert_eq!(policy().delay(0, &refused(status, Some(21)), &env), None);
            assert_eq!(policy().delay(0, &refused(status, None), &env), None);
        }
        assert_eq!(policy().delay(0, &refused(500, Some(1)), &env), None);
    }

    #[tokio::test]
    async fn an_answer_that_began_is_never_asked_for_again() {
        let env = Env::seeded(1);
        let began = [
            CallError::Unfinished,
            CallError::Broken(String::new()),
            CallError::Silent(SECOND),
            CallError::TimedOut(SECOND),
            Failure::Untrusted(String::new()).into(),
            Failure::Failed(String::new()).into(),
        ];
        for error in began {
            assert_eq!(policy().delay(0, &error, &env), None, "{error}");
        }
    }

    #[tokio::test]
    async fn retry_after_is_read_as_seconds_and_as_a_date() {
        let env = Env::seeded(1);
        let read = |value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            retry_after(&headers, &env)
        };
        assert_eq!(read("7"), Some(7 * SECOND));
        let in_an_hour = read("Tue, 14 Nov 2023 23:13:20 GMT").unwrap();
        assert!(in_an_hour <= 3600 * SECOND && in_an_hour > 3500 * SECOND, "{in_an_hour:?}");
        assert_eq!(read("Tue, 14 Nov 2023 22:13:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
    }
}
