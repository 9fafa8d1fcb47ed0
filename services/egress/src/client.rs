//! The client of one service.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

use crate::Endpoint;

/// Connections that are kept for later requests.
const MAX_IDLE_CONNECTIONS: usize = 256;

/// A client of the service at `endpoint`, to be completed and built by the caller.
pub fn builder(endpoint: &Endpoint, connect_timeout: Duration) -> ClientBuilder {
    // Err: another part of the process has chosen a provider already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("agentsessions/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        // Credentials must not follow wherever an answer points.
        .redirect(Policy::none());
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    }
    if endpoint.is_cleartext() {
        // Without this the system's CA certificates would be needed, and read, for nothing.
        builder = builder.tls_certs_only([]);
    }
    builder
}
