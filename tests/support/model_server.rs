//! A chat-completions server on loopback that counts its calls.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use env::{TaskKind, Tasks};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A model server. Stops when the test's runtime ends.
#[derive(Clone)]
pub struct ModelServer {
    address: String,
    model: Arc<Model>,
}

#[derive(Default)]
struct Model {
    thinks: Duration,
    calls: AtomicUsize,
    refusing: AtomicBool,
    traces: Mutex<Vec<String>>,
}

impl ModelServer {
    /// Starts one on a free port that answers at once.
    pub async fn start() -> Self {
        Self::thinking(Duration::ZERO).await
    }

    /// Starts one on a free port that takes so long to answer.
    pub async fn thinking(thinks: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        let model = Arc::new(Model { thinks, ..Model::default() });
        let app = Router::new().route("/chat/completions", post(complete)).with_state(Arc::clone(&model));
        Tasks::default().spawn("model server", TaskKind::Background, async move {
            axum::serve(listener, app).await.expect("the model server runs");
        });
        Self { address, model }
    }

    /// What `--model-base-url` takes.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether requests are refused from now on.
    pub fn set_refusing(&self, refusing: bool) {
        self.model.refusing.store(refusing, Ordering::SeqCst);
    }

    /// Requests received so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.model.calls.load(Ordering::SeqCst)
    }

    /// The traces that the requests said they belong to.
    #[must_use]
    pub fn traces(&self) -> Vec<String> {
        self.model.traces.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Streams `answer to <last message>` in two chunks.
async fn complete(State(model): State<Arc<Model>>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    model.calls.fetch_add(1, Ordering::SeqCst);
    if let Some(trace) = headers.get(env::TRACEPARENT).and_then(|value| value.to_str().ok()) {
        model.traces.lock().unwrap_or_else(PoisonError::into_inner).push(trace.to_owned());
    }
    if model.refusing.load(Ordering::SeqCst) {
        return StatusCode::BAD_REQUEST.into_response();
    }
    tokio::time::sleep(model.thinks).await;
    let question = request["messages"].as_array().and_then(|messages| messages.last());
    let question = question.and_then(|message| message["content"].as_str()).unwrap_or_default();
    let chunk = |delta: Value| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let body = [
        chunk(json!({ "content": "answer to " })),
        chunk(json!({ "content": question })),
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}
