//! An HTTP endpoint that answers by script, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tools::{ExecutorConfig, Kind};

use crate::setup::{config, serve};

/// How the endpoint answers one request.
pub enum Reply {
    Answer(StatusCode, String),
    Redirect(String),
    Silence,
}

/// What the endpoint was asked.
#[derive(Clone, Debug)]
pub struct Request {
    pub headers: HeaderMap,
    pub body: Value,
}

/// The endpoint.
pub struct Endpoint {
    pub url: String,
    shared: Arc<Shared>,
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
}

impl Reply {
    pub fn json(body: &Value) -> Self {
        Self::Answer(StatusCode::OK, body.to_string())
    }

    pub fn status(status: StatusCode, body: &str) -> Self {
        Self::Answer(status, body.into())
    }
}

impl Endpoint {
    /// Gives the replies in turn, then 404.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        let shared = Arc::new(Shared { replies, requests: Mutex::default() });
        let url = serve(Router::new().fallback(answer).with_state(shared.clone())).await;
        Self { url, shared }
    }

    pub fn config(&self) -> ExecutorConfig {
        config(Kind::Http, &self.url)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let body = serde_json::from_slice(&body).unwrap();
    shared.requests.lock().unwrap().push(Request { headers, body });
    let reply = shared.replies.lock().unwrap().pop_front();
    match reply {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(Reply::Answer(status, body)) => (status, body).into_response(),
        Some(Reply::Redirect(location)) => (StatusCode::TEMPORARY_REDIRECT, [("location", location)]).into_response(),
        Some(Reply::Silence) => std::future::pending().await,
    }
}
