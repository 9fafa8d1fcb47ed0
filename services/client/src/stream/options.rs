//! Bounds of a session.

use std::time::Duration;

/// How a session behaves. The defaults fit nodes on the same network.
#[derive(Clone, Debug)]
pub struct Options {
    /// Longest wait for a connection to be established, up to the end of its handshake.
    pub connect_timeout: Duration,
    /// How often the server is pinged.
    pub ping_interval: Duration,
    /// A server that is silent for so long is lost. Longer than `ping_interval`.
    pub silence: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            ping_interval: Duration::from_secs(1),
            silence: Duration::from_secs(10),
        }
    }
}
