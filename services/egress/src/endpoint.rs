//! Where a service is.

use std::net::IpAddr;

use reqwest::Url;
use thiserror::Error;

/// The address of a service: `http` or `https`, without user name or password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
}

/// Not the address of a service. The text does not repeat what may hold credentials by mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidUrl {
    /// Not a URL.
    #[error("is not a URL: {0}")]
    Syntax(String),
    /// Another scheme, or no host.
    #[error("must begin with http:// or https:// and name a host")]
    Scheme,
    /// Credentials do not belong into an address, which is shown.
    #[error("must not hold a user name or password")]
    UserInfo,
}

impl Endpoint {
    /// Reads an address.
    ///
    /// # Errors
    /// [`InvalidUrl`].
    pub fn parse(text: &str) -> Result<Self, InvalidUrl> {
        let url = Url::parse(text).map_err(|error| InvalidUrl::Syntax(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(InvalidUrl::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidUrl::UserInfo);
        }
        Ok(Self { url })
    }

    /// The address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether what is sent there can be read on the way.
    #[must_use]
    pub fn is_cleartext(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// Whether the service runs on this very machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_addresses_without_credentials_are_accepted() {
        let problem = |text| Endpoint::parse(text).err();
        assert_eq!(problem("https://me@host"), Some(InvalidUrl::UserInfo));
        assert_eq!(problem("https://:pass@host"), Some(InvalidUrl::UserInfo));
        assert_eq!(problem("ftp://host"), Some(InvalidUrl::Scheme));
        assert_eq!(problem("unix:/socket"), Some(InvalidUrl::Scheme));
        assert!(matches!(problem("host:port"), Some(InvalidUrl::Scheme | InvalidUrl::Syntax(_))));
        assert!(matches!(problem(""), Some(InvalidUrl::Syntax(_))));
        assert_eq!(problem("http://host"), None);
    }

    #[test]
    fn loopback_is_known_by_name_and_by_address() {
        for (text, expected) in [
            ("http://localhost:1", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:80", true),
            ("http://10.0.0.1", false),
            ("https://localhost.example", false),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().is_loopback(), expected, "{text}");
        }
    }
}
