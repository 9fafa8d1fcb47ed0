//! What the operator decides about the listener.

use std::time::Duration;

/// Limits and time-outs of the listener.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Largest request and, but for a small allowance, response message, in bytes.
    pub max_message_size: usize,
    /// Most Sessions calls at once; a stream counts until it has ended.
    pub max_calls: usize,
    /// Most connections at once; more wait in the kernel's backlog.
    pub max_connections: usize,
    /// How long a connection may be silent before it is pinged.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take before the connection is dropped.
    pub keepalive_timeout: Duration,
}
