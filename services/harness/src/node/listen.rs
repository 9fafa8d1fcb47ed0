//! Where a process listens.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;
use tokio::net::TcpListener;

use crate::remote::{AddressProblem, unix_path};

/// `host:port`, `:port` or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// TCP.
    Tcp(TcpEndpoint),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// A host, or every interface, and a port. Port 0 takes any free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpEndpoint {
    host: Option<String>,
    port: u16,
}

/// A text that is no [`ListenAddress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidListenAddress {
    /// It looks like TCP, and the port is missing or no number.
    #[error("write host:port, :port or unix:///path, with a port from 0 to 65535")]
    Tcp,
    /// It is a Unix socket.
    #[error(transparent)]
    Unix(AddressProblem),
}

impl TcpEndpoint {
    pub(super) async fn bind(&self) -> io::Result<TcpListener> {
        let Some(host) = &self.host else {
            // The IPv6 wildcard takes IPv4 connections too; where there is no IPv6 it cannot be bound.
            return match TcpListener::bind((Ipv6Addr::UNSPECIFIED, self.port)).await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
                Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.port)).await,
                bound => bound,
            };
        };
        TcpListener::bind((host.as_str(), self.port)).await
    }
}

impl FromStr for ListenAddress {
    type Err = InvalidListenAddress;

    fn from_str(text: &str) -> Result<Self, InvalidListenAddress> {
        if let Some(path) = unix_path(text) {
            return path.map(Self::Unix).map_err(InvalidListenAddress::Unix);
        }
        let (host, port) = text.rsplit_once(':').ok_or(InvalidListenAddress::Tcp)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let host = (!host.is_empty()).then(|| host.to_owned());
        let port = port.parse().map_err(|_| InvalidListenAddress::Tcp)?;
        Ok(Self::Tcp(TcpEndpoint { host, port }))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(TcpEndpoint { host, port }) => match host {
                Some(host) if host.contains(':') => write!(f, "[{host}]:{port}"),
                host => write!(f, "{}:{port}", host.as_deref().unwrap_or_default()),
            },
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_are_shown_in_the_form_they_are_written() {
        for text in [":80", "127.0.0.1:0", "[::1]:8081", "localhost:9000", "unix:///run/h.sock"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_nobody_can_listen_on_is_refused() {
        for text in ["", "80", "host", ":http", ":65536"] {
            assert_eq!(text.parse::<ListenAddress>(), Err(InvalidListenAddress::Tcp), "{text}");
        }
        assert_eq!("unix://".parse::<ListenAddress>(), Err(InvalidListenAddress::Unix(AddressProblem::Path)));
    }
}
