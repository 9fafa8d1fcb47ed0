//! What the operator says about the provider.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
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
    /// `base_url` and `path` make no URL.
    #[error("base_url and path make no URL: {0}")]
    Url(String),
    /// Another scheme, or no host.
    #[error("base_url must begin with http:// or https:// and name a host")]
    Scheme,
    /// Credentials come from the environment only.
    #[error("base_url must not hold a user name or password; the key comes from MODEL_API_KEY")]
    UserInfo,
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
pub(crate) struct Endpoint {
    pub url: Url,
    pub auth_header: HeaderName,
}

impl ModelConfig {
    /// Whether there is a provider at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        !self.model.is_empty()
    }

    pub(crate) fn endpoint(&self) -> Result<Endpoint, InvalidModelConfig> {
        let mut problems = self.zero_durations();
        if !self.path.is_empty() && !self.path.starts_with('/') {
            problems.push(Problem::Path);
        }
        let url = self.url().map_err(|problem| problems.push(problem)).ok();
        let auth_header = self.auth_header.parse().map_err(|_| problems.push(Problem::AuthHeader)).ok();
        match (url, auth_header) {
            (Some(url), Some(auth_header)) if problems.is_empty() => Ok(Endpoint { url, auth_header }),
            _ => Err(InvalidModelConfig { problems }),
        }
    }

    fn url(&self) -> Result<Url, Problem> {
        let text = format!("{}{}", self.base_url.trim_end_matches('/'), self.path);
        let url = Url::parse(&text).map_err(|error| Problem::Url(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Problem::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Problem::UserInfo);
        }
        Ok(url)
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

impl Endpoint {
    pub(crate) fn is_cleartext(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// Whether the provider runs on this very machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
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

    fn problems(config: &ModelConfig) -> Vec<Problem> {
        config.endpoint().err().map(|error| error.problems).unwrap_or_default()
    }

    fn with_base(base_url: &str) -> ModelConfig {
        ModelConfig { base_url: base_url.into(), ..ModelConfig::default() }
    }

    #[test]
    fn the_path_follows_the_base_whose_trailing_slashes_are_trimmed() {
        let url = |base, path: &str| {
            let config = ModelConfig { path: path.into(), ..with_base(base) };
            config.endpoint().unwrap().url.to_string()
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
        let error = config.endpoint().err().unwrap();
        assert_eq!(
            error.problems,
            [Problem::ZeroDuration("timeout"), Problem::Path, Problem::UserInfo, Problem::AuthHeader]
        );
        assert!(!error.to_string().contains("pass-word"), "{error}");
    }

    #[test]
    fn only_http_addresses_without_credentials_are_accepted() {
        assert_eq!(problems(&with_base("https://me@host")), [Problem::UserInfo]);
        assert_eq!(problems(&with_base("https://:pass@host")), [Problem::UserInfo]);
        assert_eq!(problems(&with_base("ftp://host")), [Problem::Scheme]);
        assert_eq!(problems(&with_base("unix:/socket")), [Problem::Scheme]);
        assert!(matches!(problems(&with_base("host:port"))[..], [Problem::Scheme | Problem::Url(_)]));
        assert!(matches!(problems(&with_base(""))[..], [Problem::Url(_)]));
        assert_eq!(problems(&with_base("http://host")), []);
    }

    #[test]
    fn loopback_is_known_by_name_and_by_address() {
        for (base, expected) in [
            ("http://localhost:1", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:80", true),
            ("http://10.0.0.1", false),
            ("https://localhost.example", false),
        ] {
            assert_eq!(with_base(base).endpoint().unwrap().is_loopback(), expected, "{base}");
        }
    }
}
