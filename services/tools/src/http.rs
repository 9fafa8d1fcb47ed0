//! Executors behind an HTTP endpoint: one POST, one answer.

mod answer;
mod request;

use std::time::Duration;

use async_trait::async_trait;
use egress::{Failure, root_cause};
use env::Env;
use journal::SessionUid;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url};
use wire::{ToolCall, ToolResult};

use crate::call::{CallError, Executor};
use crate::config::{Fault, Plan, Remote};
use crate::credentials::{self, Variables};
use crate::retry::Retries;

/// Longest wait for a connection, name resolution and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An executor that is POSTed to.
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    max_response: usize,
    env: Env,
}

impl Endpoint {
    pub(crate) fn new(plan: &Plan, remote: &Remote, variables: &Variables, env: &Env) -> Result<Self, Vec<Fault>> {
        let client = client(&plan.name, remote, variables)?;
        let url = remote.endpoint.url().clone();
        Ok(Self { client, url, max_response: plan.max_response, env: env.clone() })
    }

    async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<Response, CallError> {
        let mut request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").headers(headers);
        if let Some(trace) = env::traceparent() {
            request = request.header(env::TRACEPARENT, trace);
        }
        let response = request.body(body).send().await.map_err(|error| Failure::from(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(CallError::Status(response.status().as_u16())) }
    }
}

#[async_trait]
impl Executor for Endpoint {
    async fn call(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, CallError> {
        let headers = request::headers(session, call)?;
        let body = request::body(session, call)?;
        let mut retries = Retries::new(&self.env);
        let response = loop {
            match self.post(headers.clone(), body.clone()).await {
                Ok(response) => break response,
                Err(error) => retries.or_fail(error).await?,
            }
        };
        answer::read(&read_to_end(response, self.max_response).await?)
    }
}

/// A client that sends the credentials of `remote` with every request.
pub(crate) fn client(name: &str, remote: &Remote, variables: &Variables) -> Result<Client, Vec<Fault>> {
    let headers = credentials::headers(remote, variables)?;
    let endpoint = &remote.endpoint;
    if !headers.is_empty() && endpoint.is_cleartext() && !endpoint.is_loopback() {
        tracing::warn!(executor = name, "headers are sent without encryption: url is http");
    }
    let builder = egress::builder(endpoint, CONNECT_TIMEOUT).default_headers(headers);
    builder.build().map_err(|error| vec![Fault::Tls(root_cause(&error))])
}

async fn read_to_end(mut response: Response, limit: usize) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| CallError::Broken(root_cause(&error)))? {
        if body.len() + piece.len() > limit {
            return Err(CallError::TooLong(limit));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
