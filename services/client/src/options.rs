//! Bounds and sizes of a connection.

use std::time::Duration;

use tonic::transport::Endpoint;

use crate::Retry;

/// How a [`crate::Client`] behaves. The defaults fit a host on the same network.
#[derive(Clone, Debug)]
pub struct Options {
    /// Longest wait for a connection to be established.
    pub connect_timeout: Duration,
    /// Longest wait for the answer of a call that runs no turn, its repetitions included: create, get, one page of a list,
    /// approve, suspend, fork. A turn (exec, resume) takes as long as it takes; a dead peer ends it through `keepalive`.
    pub call_timeout: Duration,
    /// A peer that is silent for this long is pinged, and given the same time to answer.
    pub keepalive: Duration,
    /// What a call does whose node is lost.
    pub retry: Retry,
    /// How long a turn whose node is lost may get nowhere on the others before that is reported as its failure. It is waited
    /// longer for a call that a node has taken and not answered. Zero: a turn is one call, nothing is read before it, and
    /// when it is cut off that is its failure.
    pub turn_patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            keepalive: Duration::from_secs(10),
            retry: Retry::default(),
            turn_patience: Duration::from_secs(60),
        }
    }
}

/// Bytes of one stream that may be under way before the reader takes them.
const STREAM_WINDOW: u32 = 1 << 20;
/// The same for all streams of a connection.
const CONNECTION_WINDOW: u32 = 4 << 20;

impl Options {
    pub(crate) fn tune(&self, endpoint: Endpoint) -> Endpoint {
        endpoint
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(self.keepalive)
            .keep_alive_timeout(self.keepalive)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
    }
}
