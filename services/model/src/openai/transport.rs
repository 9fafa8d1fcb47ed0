//! HTTP: one request out, the head of its answer in.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use env::Env;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::timeout;

use super::answer::{Answer, Body};
use super::chunk::Refusal;
use super::error::CallError;
use super::retry::retry_after;
use crate::config::Endpoint;
use crate::{ApiKey, InvalidModelConfig, ModelConfig, Problem};

/// Most of a refusal's body that is read for the provider's message.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Connections that are kept for later requests.
const MAX_IDLE_CONNECTIONS: usize = 256;

/// The provider's end of the line.
pub(super) struct Transport {
    client: Client,
    url: Url,
    key: Option<(HeaderName, HeaderValue)>,
    idle_timeout: Duration,
}

impl Transport {
    pub(super) fn new(config: &ModelConfig, key: Option<&ApiKey>) -> Result<Self, InvalidModelConfig> {
        let endpoint = config.endpoint()?;
        if key.is_some() && endpoint.is_cleartext() && !endpoint.is_loopback() {
            tracing::warn!("the model provider's key is sent without encryption: base_url is http");
        }
        let client = client(&endpoint, config.connect_timeout)
            .map_err(|error| InvalidModelConfig { problems: vec![Problem::Tls(root_cause(&error))] })?;
        let Endpoint { url, auth_header } = endpoint;
        let key = key.map(|key| key.header_value(&auth_header).clone()).map(|value| (auth_header, value));
        Ok(Self { client, url, key, idle_timeout: config.idle_timeout })
    }

    /// Sends a request; returns once the provider has begun to answer it well.
    pub(super) async fn send(&self, body: Bytes, env: &Env) -> Result<Answer, CallError> {
        let mut request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        if let Some((name, value)) = &self.key {
            request = request.header(name, value);
        }
        let head = timeout(self.idle_timeout, request.send());
        let response =
            head.await.map_err(|_| CallError::Silent(self.idle_timeout))?.map_err(|error| failure(&error))?;
        if response.status().is_success() {
            Answer::new(response, self.idle_timeout)
        } else {
            Err(refusal(response, self.idle_timeout, env).await)
        }
    }
}

fn client(endpoint: &Endpoint, connect_timeout: Duration) -> reqwest::Result<Client> {
    // Err: another part of the process has chosen a provider already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("agentsessions/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        // The key must not follow wherever an answer points.
        .redirect(Policy::none());
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    }
    if endpoint.is_cleartext() {
        // Without this the system's CA certificates would be needed, and read, for nothing.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// Why no answer came.
fn failure(error: &reqwest::Error) -> CallError {
    let cause = root_cause(error);
    if sources(error).any(is_tls) {
        CallError::Untrusted(cause)
    } else if error.is_connect() {
        CallError::Connect(cause)
    } else if sources(error).any(is_loss) {
        CallError::Lost
    } else {
        CallError::Failed(cause)
    }
}

async fn refusal(response: Response, idle_timeout: Duration, env: &Env) -> CallError {
    let status = response.status();
    let retry_after = retry_after(response.headers(), env);
    let body = Body::new(response, idle_timeout).read_to_end(MAX_REFUSAL_BYTES).await;
    let message = body.ok().and_then(|body| Refusal::message_in(&body)).unwrap_or_else(|| describe(status));
    CallError::Refused { status, message, retry_after }
}

fn describe(status: StatusCode) -> String {
    if status.is_redirection() {
        return "redirects are not followed; check base_url".into();
    }
    status.canonical_reason().unwrap_or("the provider gave no reason").into()
}

/// The innermost cause: the outer ones name the URL, or say little.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    sources(error).last().map_or_else(|| "unknown cause".into(), ToString::to_string)
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}

/// I/O errors wrap one another without being one another's source.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}

/// The connection ended before anything of an answer was read.
fn is_loss(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let hyper = error.downcast_ref::<hyper::Error>();
    let io = error.downcast_ref::<io::Error>();
    hyper.is_some_and(|error| error.is_incomplete_message() || error.is_canceled() || error.is_closed())
        || io.is_some_and(|error| {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        })
}
