//! What the operator says about the provider.

use std::fmt;
use std::time::Duration;

use egress::{Endpoint, InvalidUrl};
use reqwest::header::HeaderName;
use thiserror::Error;

/// What the operator says about the provider. The key is not part of it: see [`crate::ApiKey`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelConfig {
    /// The provider's model id. It answers requests that name no model, or `echo`; requests that name another go to the
    /// provider under that name. Empty (default): no provider, the built-in echo model answers.
    pub model: String,
    /// Address of the provider: `http` or `https`, without user name or password. A trailing `/` does not matter.
    /// Default: `https://api.openai.com/v1`.
    pub base_url: String,
    /// What follows `base_url` in requests. Default: `/chat/completions`.
    pub path: String,
    /// The header that carries the key: `Authorization` (default; `Bearer <key>`) or another (the bare key).
    pub auth_header: String,
    /// Longest time from a request to its complete answer, repetitions included. Default: 2 minutes.
    pub timeout: Duration,
    /// Longest wait for a connection, name resolution and TLS included. Default: 10 s.
    pub connect_timeout: Duration,
    /// Longest silence of the provider: before the head of its answer, and between two pieces of it. Models that think
    /// in silence need a long one. Default: 2 minutes, so that only `timeout` counts.
    pub idle_timeout: Duration,
    /// How often a request is sent again after nothing of an answer arrived: the connection could not be made or was
    /// lost before the head, or the provider said when to come back (429 or 503 with `Retry-After`). Default: 2; 0: never.
    pub retries: u32,
    /// Wait before the first repetition, half of it random; doubled for each further one. Default: 250 ms.
    pub retry_backoff: Duration,
    /// Longest `Retry-After` that is waited for; a longer one fails the request at once. Default: 20 s.
    pub retry_after_limit: Duration,
}

/// A configuration with which no provider can be made: everything that is wrong with it.
#[derive(Debug, Error)]
pub struct InvalidModelConfig {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong. It does not repeat values that may hold credentials by mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// `base_url` and `path` make no address of a provider. Credentials come from the environment only.
    #[error("base_url {0}")]
    Url(#[from] InvalidUrl),
    /// The path would run into the host or the last segment of the base.
    #[error("path must begin with /")]
    Path,
    /// Not the name of a header.
    #[error("auth_header is not a header name")]
    AuthHeader,
    /// A bound of nothing.
    #[error("{0} must be longer than zero")]
    ZeroDuration(&'static str),
    /// TLS cannot be set up, for example because the machine has no CA certificates.
    #[error("cannot set up TLS: {0}; https needs the CA certificates of the system, or SSL_CERT_FILE")]
    Tls(String),
}

/// The part of a configuration that had to be parsed.
pub(crate) struct Provider {
    pub endpoint: Endpoint,
    pub auth_header: HeaderName,
}

impl ModelConfig {
    /// Whether there is a provider at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        !self.model.is_empty()
    }

    pub(crate) fn provider(&self) -> Result<Provider, InvalidModelConfig> {
        let mut problems = self.zero_durations();
        if !self.path.is_empty() && !self.path.starts_with('/') {
            problems.push(Problem::Path);
        }
        let endpoint = self.endpoint().map_err(|problem| problems.push(problem.into())).ok();
        let auth_header = self.auth_header.parse().map_err(|_| problems.push(Problem::AuthHeader)).ok();
        match (endpoint, auth_header) {
            (Some(endpoint), Some(auth_header)) if problems.is_empty() => Ok(Provider { endpoint, auth_header }),
            _ => Err(InvalidModelConfig { problems }),
        }
    }

    fn endpoint(&self) -> Result<Endpoint, InvalidUrl> {
        Endpoint::parse(&format!("{}{}", self.base_url.trim_end_matches('/'), self.path))
    }

    fn zero_durations(&self) -> Vec<Problem> {
        [
            ("timeout", self.timeout),
            ("connect_timeout", self.connect_timeout),
            ("idle_timeout", self.idle_timeout),
            ("retry_backoff", self.retry_backoff),
        ]
        .into_iter()
        .filter(|(_, bound)| bound.is_zero())
        .map(|(name, _)| Problem::ZeroDuration(name))
        .collect()
    }
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            model: String::new(),
            base_url: "https://api.openai.com/v1".into(),
            path: "/chat/completions".into(),
            auth_header: "Authorization".into(),
            timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            retries: 2,
            retry_backoff: Duration::from_millis(250),
            retry_after_limit: Duration::from_secs(20),
        }
    }
}

impl fmt::Display for InvalidModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("model provider: ")?;
        for (index, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_base(base_url: &str) -> ModelConfig {
        ModelConfig { base_url: base_url.into(), ..ModelConfig::default() }
    }

    #[test]
    fn the_path_follows_the_base_whose_trailing_slashes_are_trimmed() {
        let url = |base, path: &str| {
            let config = ModelConfig { path: path.into(), ..with_base(base) };
            config.provider().unwrap().endpoint.url().to_string()
        };
        assert_eq!(url("https://api.openai.com/v1", "/chat/completions"), "https://api.openai.com/v1/chat/completions");
        assert_eq!(url("http://127.0.0.1:1/v1//", "/c?api-version=1"), "http://127.0.0.1:1/v1/c?api-version=1");
        assert_eq!(url("http://[::1]:1", ""), "http://[::1]:1/");
    }

    #[test]
    fn all_problems_are_reported_at_once_and_repeat_no_credentials() {
        let config = ModelConfig {
            base_url: "https://me:pass-word@host".into(),
            path: "chat".into(),
            auth_header: "not a header".into(),
            timeout: Duration::ZERO,
            ..ModelConfig::default()
        };
        let error = config.provider().err().unwrap();
        assert_eq!(
            error.problems,
            [Problem::ZeroDuration("timeout"), Problem::Path, Problem::Url(InvalidUrl::UserInfo), Problem::AuthHeader]
        );
        assert!(!error.to_string().contains("pass-word"), "{error}");
    }
}
