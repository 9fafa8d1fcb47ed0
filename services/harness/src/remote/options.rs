//! Bounds on talking to remote harnesses.

use std::time::Duration;

/// Bounds on talking to remote harnesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteOptions {
    /// Longest wait for a connection, name resolution included.
    pub connect_timeout: Duration,
    /// Largest message in either direction, in bytes. The first frame carries the whole history.
    pub max_message_bytes: usize,
    /// How often a connection without traffic is probed by an HTTP/2 ping. Servers of other implementations drop
    /// clients that ping more often than every five minutes; a dead machine is found sooner, by TCP keepalive.
    pub keepalive_interval: Duration,
    /// Longest wait for the answer to a probe.
    pub keepalive_timeout: Duration,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            max_message_bytes: 64 * 1024 * 1024,
            keepalive_interval: Duration::from_secs(330),
            keepalive_timeout: Duration::from_secs(20),
        }
    }
}
