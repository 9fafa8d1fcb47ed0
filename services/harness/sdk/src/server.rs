//! Serves a harness over gRPC.

mod listener;
mod service;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tonic::transport::server::{Router, Server};
use wire::harness_server::HarnessServer;

pub use listener::Listener;
pub use service::HarnessService;

use crate::Harness;

/// Largest message that a host may send by default: histories are long.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// How often a silent connection is probed, and how long the answer may take: a host that lost power must not leave its
/// runs behind.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves `harness` until `shutdown` is done, then waits for the turns under way.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    harness: impl Harness,
    listener: impl Into<Listener>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    listener.into().serve(router(Arc::new(harness), MAX_MESSAGE_BYTES), shutdown).await
}

/// A server of `harness` to which other services (health, reflection) can be added before it is given to
/// [`Listener::serve`].
#[must_use]
pub fn router(harness: Arc<dyn Harness>, max_message_bytes: usize) -> Router {
    let service = HarnessServer::new(HarnessService::new(harness))
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(max_message_bytes);
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .add_service(service)
}
