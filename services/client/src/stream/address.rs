//! Where agents are invoked.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The address of a node's stream sessions: `host:port` or `ws://host:port` without TLS, `wss://host[:port]` with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    tls: bool,
    host: String,
    port: u16,
}

/// The addresses of nodes on one journal, separated by commas in their text; at least one. They are tried in this order, and
/// round again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints(Vec<Endpoint>);

/// Why a text is not an [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{endpoint:?} is not an address: {reason}")]
pub struct InvalidEndpoint {
    endpoint: String,
    reason: &'static str,
}

/// Of wss.
const TLS_PORT: u16 = 443;

impl Endpoint {
    pub(super) fn is_tls(&self) -> bool {
        self.tls
    }

    /// A name or an address, without the brackets of the latter.
    pub(super) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Endpoints {
    /// Whether one of them is encrypted, so that authorities must be trusted.
    #[must_use]
    pub fn need_tls(&self) -> bool {
        self.0.iter().any(Endpoint::is_tls)
    }

    /// The n-th, counted round and round.
    pub(super) fn at(&self, n: usize) -> &Endpoint {
        &self.0[n % self.0.len()]
    }
}

impl From<Endpoint> for Endpoints {
    fn from(endpoint: Endpoint) -> Self {
        Self(vec![endpoint])
    }
}

impl FromStr for Endpoints {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        text.split(',').map(|endpoint| endpoint.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        parse(text).map_err(|reason| InvalidEndpoint { endpoint: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<Endpoint, &'static str> {
    let (tls, authority) = match text.split_once("://") {
        None => (false, text),
        Some(("ws" | "http", authority)) => (false, authority),
        Some(("wss" | "https", authority)) => (true, authority),
        Some(_) => return Err("unknown scheme; use host:port, ws://host:port or wss://host"),
    };
    let authority = authority.trim_end_matches('/');
    if authority.contains(|c: char| c == '/' || c == '@' || c.is_whitespace()) {
        return Err("host:port is expected");
    }
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| is_port(port)) {
        Some((host, port)) => (host, port.parse().ok().filter(|&port| port > 0)),
        None if tls => (authority, Some(TLS_PORT)),
        None => return Err("the port is missing"),
    };
    let port = port.ok_or("the port is not a number from 1 to 65535")?;
    if host.is_empty() {
        return Err("the host is missing");
    }
    Ok(Endpoint { tls, host: host.to_owned(), port })
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", if self.tls { "wss" } else { "ws" }, self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_form_is_accepted() {
        for (text, shown, host) in [
            ("127.0.0.1:8080", "ws://127.0.0.1:8080", "127.0.0.1"),
            ("ws://localhost:8080/", "ws://localhost:8080", "localhost"),
            ("wss://agents.example", "wss://agents.example:443", "agents.example"),
            ("wss://[::1]:9", "wss://[::1]:9", "::1"),
            ("https://[::1]", "wss://[::1]:443", "::1"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.to_string().as_str(), endpoint.host()), (shown, host));
        }
    }

    #[test]
    fn several_are_tried_in_order_and_round_again() {
        let endpoints: Endpoints = "a:1, wss://b".parse().unwrap();
        let tried: Vec<_> = (0..3).map(|n| endpoints.at(n).to_string()).collect();
        assert_eq!(tried, ["ws://a:1", "wss://b:443", "ws://a:1"]);
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        for text in
            ["", "localhost", ":8080", "h:0", "h:70000", "unix:x", "ftp://h:1", "h/p:1", "ws://u@h:1", "a:1,,b:2"]
        {
            assert!(text.parse::<Endpoints>().is_err(), "{text}");
        }
    }
}
