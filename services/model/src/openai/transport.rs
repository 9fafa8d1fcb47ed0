//! HTTP: one request out, the head of its answer in.

use std::time::Duration;

use bytes::Bytes;
use egress::{Failure, root_cause};
use env::Env;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::timeout;

use super::answer::{Answer, Body};
use super::chunk::Refusal;
use super::error::CallError;
use super::retry::retry_after;
use crate::config::Provider;
use crate::{ApiKey, InvalidModelConfig, ModelConfig, Problem};

/// Most of a refusal's body that is read for the provider's message.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// The provider's end of the line.
pub(super) struct Transport {
    client: Client,
    url: Url,
    key: Option<(HeaderName, HeaderValue)>,
    idle_timeout: Duration,
}

impl Transport {
    pub(super) fn new(config: &ModelConfig, key: Option<&ApiKey>) -> Result<Self, InvalidModelConfig> {
        let Provider { endpoint, auth_header } = config.provider()?;
        if key.is_some() && endpoint.is_cleartext() && !endpoint.is_loopback() {
            tracing::warn!("the model provider's key is sent without encryption: base_url is http");
        }
        let client = egress::builder(&endpoint, config.connect_timeout)
            .build()
            .map_err(|error| InvalidModelConfig { problems: vec![Problem::Tls(root_cause(&error))] })?;
        let key = key.map(|key| key.header_value(&auth_header).clone()).map(|value| (auth_header, value));
        Ok(Self { client, url: endpoint.url().clone(), key, idle_timeout: config.idle_timeout })
    }

    /// Sends a request; returns once the provider has begun to answer it well.
    pub(super) async fn send(&self, body: Bytes, env: &Env) -> Result<Answer, CallError> {
        let mut request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        if let Some((name, value)) = &self.key {
            request = request.header(name, value);
        }
        if let Some(trace) = env::traceparent() {
            request = request.header(env::TRACEPARENT, trace);
        }
        let head = timeout(self.idle_timeout, request.send());
        let response =
            head.await.map_err(|_| CallError::Silent(self.idle_timeout))?.map_err(|error| Failure::from(&error))?;
        if response.status().is_success() {
            Answer::new(response, self.idle_timeout)
        } else {
            Err(refusal(response, self.idle_timeout, env).await)
        }
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
