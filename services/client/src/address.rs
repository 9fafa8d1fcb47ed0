//! Where nodes listen.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use tonic::transport::{Channel, Endpoint};

use crate::Options;

/// The address of a node: `host:port`, `http://host:port`, `unix:path` or `unix:///absolute/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Host and port, as given.
    Tcp(String),
    /// The path of a socket, as given.
    Unix(String),
}

/// Why a text is not an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{address:?} is not an address: {reason}")]
pub struct InvalidAddress {
    address: String,
    reason: &'static str,
}

impl Address {
    /// A connection to whatever listens here.
    pub(crate) async fn connect(&self, options: &Options) -> Result<Channel, tonic::transport::Error> {
        self.endpoint(options)?.connect().await
    }

    /// A connection that is established when it is needed.
    pub(crate) fn connect_lazily(&self, options: &Options) -> Result<Channel, tonic::transport::Error> {
        Ok(self.endpoint(options)?.connect_lazy())
    }

    /// How the transport reaches this address.
    fn endpoint(&self, options: &Options) -> Result<Endpoint, tonic::transport::Error> {
        let uri = match &self.0 {
            Kind::Tcp(authority) => format!("http://{authority}"),
            Kind::Unix(path) => format!("unix:{path}"),
        };
        Ok(options.tune(Endpoint::from_shared(uri)?))
    }
}

/// The addresses of nodes on one journal, separated by commas in their text; at least one. A client tries them in this
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses(Vec<Address>);

impl Addresses {
    /// Each of them, once.
    pub fn iter(&self) -> impl Iterator<Item = &Address> {
        self.0.iter()
    }
}

impl From<Address> for Addresses {
    fn from(address: Address) -> Self {
        Self(vec![address])
    }
}

impl FromStr for Addresses {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let mut addresses = Vec::new();
        for address in text.split(',') {
            let address = address.trim().parse()?;
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(Self(addresses))
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        parse(text).map(Self).map_err(|reason| InvalidAddress { address: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<Kind, &'static str> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix(path.strip_prefix("//").unwrap_or(path));
    }
    match text.split_once("://") {
        None => tcp(text),
        Some(("http", authority)) => tcp(authority.trim_end_matches('/')),
        Some(("https", _)) => Err("TLS is not supported; use http:// to a loopback address or a proxy"),
        Some(_) => Err("unknown scheme; use host:port, http://host:port or unix:path"),
    }
}

fn unix(path: &str) -> Result<Kind, &'static str> {
    match path {
        "" => Err("the path of the socket is missing"),
        _ => Ok(Kind::Unix(path.to_owned())),
    }
}

fn tcp(authority: &str) -> Result<Kind, &'static str> {
    let (host, port) = authority.rsplit_once(':').ok_or("the port is missing")?;
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.contains(|c: char| c == '/' || c == '@' || c.is_whitespace()) {
        return Err("host:port is expected");
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(Kind::Tcp(authority.to_owned())),
        _ => Err("the port is not a number from 1 to 65535"),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Tcp(authority) => f.write_str(authority),
            Kind::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_form_is_accepted() {
        for (text, shown) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://localhost:8080/", "localhost:8080"),
            ("[::1]:9", "[::1]:9"),
            ("unix:relative.sock", "unix:relative.sock"),
            ("unix:///run/a.sock", "unix:/run/a.sock"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(address.endpoint(&Options::default()).is_ok(), "{text}");
        }
    }

    #[test]
    fn several_addresses_are_separated_by_commas_and_kept_in_order_without_repetition() {
        let addresses: Addresses = "b:2, a:1,unix:x.sock,b:2".parse().unwrap();
        let shown: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["b:2", "a:1", "unix:x.sock"]);
        for text in ["", "a:1,", ",a:1", "a:1,,b:2"] {
            assert!(text.parse::<Addresses>().is_err(), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        for text in
            ["", "localhost", ":8080", "host:0", "host:x", "host:70000", "https://h:1", "dns:///h:1", "unix:", "h/p:1"]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
