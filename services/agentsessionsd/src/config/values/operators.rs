//! Where operators are listened to (registry.md §6).

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{InvalidValue, Raw, text_value};

text_value!(RegistryAddr);

/// A literal loopback address, as the listener has no authentication; empty: no listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct RegistryAddr(Option<Given>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    text: String,
    addr: SocketAddr,
}

impl RegistryAddr {
    /// The address to bind, if there is to be a listener.
    #[must_use]
    pub fn get(&self) -> Option<SocketAddr> {
        self.0.as_ref().map(|given| given.addr)
    }
}

impl FromStr for RegistryAddr {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let invalid = || {
            let message = "is not a literal loopback address with a port, such as 127.0.0.1:9090 or [::1]:9090";
            InvalidValue(format!("{text:?} {message}"))
        };
        // A zone says which link is meant, and loopback is none.
        let addr = text.parse::<SocketAddr>().ok().filter(|_| !text.contains('%')).ok_or_else(invalid)?;
        // An IPv4 address in IPv6 clothing is bound as what it is.
        let addr = SocketAddr::new(addr.ip().to_canonical(), addr.port());
        if !addr.ip().is_loopback() {
            return Err(invalid());
        }
        Ok(Self(Some(Given { text: text.to_owned(), addr })))
    }
}

impl fmt::Display for RegistryAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref().map_or("", |given| &given.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_loopback_addresses_are_accepted() {
        let bound = |text: &str| text.parse::<RegistryAddr>().unwrap().get().map(|addr| addr.to_string());
        for good in ["127.0.0.1:9090", "127.8.9.10:0", "127.255.255.255:65535", "[::1]:9090"] {
            assert_eq!(bound(good).as_deref(), Some(good));
        }
        assert_eq!(bound("[::ffff:127.0.0.1]:9090").as_deref(), Some("127.0.0.1:9090"));
        assert_eq!(bound(""), None);
    }

    #[test]
    fn everything_else_is_refused() {
        let bad = [
            "localhost:9090",
            "example.com:9090",
            ":9090",
            "0.0.0.0:9090",
            "[::]:9090",
            "10.0.0.1:9090",
            "126.255.255.255:9090",
            "128.0.0.1:9090",
            "[::2]:9090",
            "[::ffff:10.0.0.1]:9090",
            "[::1%1]:9090",
            "[::1%0]:9090",
            "[::1%lo]:9090",
            "::1:9090",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:http",
            "127.0.0.1:65536",
            "127.0.0.1:-1",
            "127.0.0.1:+1",
            "127.0.0.1:0x50",
            "127.1:9090",
            "127.0.0.01:9090",
            " 127.0.0.1:9090",
        ];
        for text in bad {
            assert!(text.parse::<RegistryAddr>().is_err(), "{text:?}");
        }
    }
}
