//! Where a harness is (registry.md §7.2).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// The address of a remote harness: `host:port`, `dns:///host:port`, `dns://resolver/host:port`, `unix:path`,
/// `unix:///absolute` or `unix://relative`. Shown as it was written.
///
/// A resolver is accepted and not used: names are resolved by the operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarnessAddress {
    text: String,
    target: Target,
}

/// What is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An IPv6 host has no brackets here.
    Tcp {
        host: String,
        port: NonZeroU16,
    },
    Unix(PathBuf),
}

/// A text that is no address of a harness.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("harness address {text:?}: {problem}")]
pub struct InvalidAddress {
    text: String,
    /// What is wrong with it.
    #[source]
    pub problem: AddressProblem,
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AddressProblem {
    /// Neither TCP nor a Unix socket.
    #[error("use host:port, dns:///host:port, dns://resolver/host:port, unix:path or unix:///path")]
    Scheme,
    /// `dns://` without resolver and host as it wants them.
    #[error("write dns:///host:port or dns://resolver/host:port")]
    Dns,
    /// No port, or one that is not from 1 to 65535.
    #[error("the port must be a number from 1 to 65535")]
    Port,
    /// The host is neither an IP address nor a DNS name.
    #[error("the host must be an IP address (IPv6 in brackets) or a DNS name")]
    Host,
    /// `dns:80` looks like a host but is a scheme elsewhere.
    #[error("the host is the name of a resolver scheme")]
    SchemeAsHost,
    /// No path, or one that no socket can have.
    #[error("the path of a Unix socket must have 1 to 107 bytes and no NUL")]
    Path,
}

/// Hosts that other gRPC implementations would read as the scheme of an address.
const RESOLVER_SCHEMES: [&str; 9] =
    ["dns", "ipv4", "ipv6", "passthrough", "unix", "unix-abstract", "vsock", "xds", "google-c2p"];

/// `sockaddr_un` holds 108 bytes, the last of which is NUL.
const MAX_SOCKET_PATH: usize = 107;

impl HarnessAddress {
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }
}

impl FromStr for HarnessAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        match target(text) {
            Ok(target) => Ok(Self { text: text.to_owned(), target }),
            Err(problem) => Err(InvalidAddress { text: text.to_owned(), problem }),
        }
    }
}

impl fmt::Display for HarnessAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn target(text: &str) -> Result<Target, AddressProblem> {
    if let Some(path) = unix_path(text) {
        return path.map(Target::Unix);
    }
    if let Some(rest) = text.strip_prefix("dns://") {
        let (resolver, endpoint) = rest.split_once('/').ok_or(AddressProblem::Dns)?;
        check_resolver(resolver)?;
        return tcp(endpoint);
    }
    if text.contains("://") { Err(AddressProblem::Scheme) } else { tcp(text) }
}

/// The path in an address of a Unix socket; `None` if it is another kind of address.
pub(crate) fn unix_path(text: &str) -> Option<Result<PathBuf, AddressProblem>> {
    let path = text.strip_prefix("unix:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let possible = !path.is_empty() && path.len() <= MAX_SOCKET_PATH && !path.contains('\0');
    Some(possible.then(|| path.into()).ok_or(AddressProblem::Path))
}

fn tcp(endpoint: &str) -> Result<Target, AddressProblem> {
    let (host, port) = endpoint.rsplit_once(':').ok_or(AddressProblem::Port)?;
    let host = check_host(host)?.to_owned();
    Ok(Target::Tcp { host, port: parse_port(port)? })
}

fn check_resolver(resolver: &str) -> Result<(), AddressProblem> {
    let host = match resolver.rsplit_once(':') {
        Some((host, port)) if !resolver.ends_with(']') => parse_port(port).map(|_| host)?,
        _ => resolver,
    };
    if host.is_empty() && resolver.is_empty() { Ok(()) } else { check_host(host).map(drop) }
}

fn parse_port(port: &str) -> Result<NonZeroU16, AddressProblem> {
    // The standard parser would also take a sign.
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|_| digits).ok_or(AddressProblem::Port)
}

fn check_host(host: &str) -> Result<&str, AddressProblem> {
    if RESOLVER_SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(host)) {
        return Err(AddressProblem::SchemeAsHost);
    }
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return if inner.parse::<Ipv6Addr>().is_ok() { Ok(inner) } else { Err(AddressProblem::Host) };
    }
    if host.parse::<Ipv4Addr>().is_ok() || is_dns_name(host) { Ok(host) } else { Err(AddressProblem::Host) }
}

fn is_dns_name(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    // A name that ends in a number is a mistyped IPv4 address.
    name.len() <= 253 && name.split('.').all(is_label) && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_label(label: &str) -> bool {
    // Underscores are not for host names, but container networks have them.
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&label.len()) && label.bytes().all(known) && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests;
