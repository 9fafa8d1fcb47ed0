//! An HTTP executor of tools on loopback that has one effect for each key and counts its calls.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use env::{TaskKind, Tasks};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::NodeBuilder;

/// The tool that the server runs.
pub const TOOL: &str = "charge";

/// An executor. Stops when the test's runtime ends.
#[derive(Clone)]
pub struct ToolServer {
    address: String,
    calls: Arc<Mutex<Calls>>,
}

#[derive(Default)]
struct Calls {
    /// Session and key of every call, in order.
    received: Vec<(String, String)>,
    /// Those that had an effect.
    effects: BTreeSet<(String, String)>,
    to_fail: usize,
    /// What is answered instead of the usual.
    answer: Option<Value>,
}

impl ToolServer {
    /// Starts one on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        let calls = Arc::<Mutex<Calls>>::default();
        let app = Router::new().route("/run", post(run)).with_state(Arc::clone(&calls));
        Tasks::default().spawn("tool server", TaskKind::Background, async move {
            axum::serve(listener, app).await.expect("the tool server runs");
        });
        Self { address, calls }
    }

    /// A node that has this server run [`TOOL`]; `directory` keeps its configuration.
    #[must_use]
    pub fn node(&self, builder: NodeBuilder, directory: &Path) -> NodeBuilder {
        let path = directory.join("node.toml");
        let text = format!("[tools.server]\nkind = 'http'\nurl = 'http://{}/run'\ntools = ['{TOOL}']\n", self.address);
        std::fs::write(&path, text).expect("a configuration file");
        builder.flag("--config", path)
    }

    /// Refuses the next `calls` calls, without an effect.
    pub fn fail(&self, calls: usize) {
        self.lock().to_fail = calls;
    }

    /// Answers with this object from now on.
    pub fn answer(&self, answer: Value) {
        self.lock().answer = Some(answer);
    }

    /// Session and key of every call so far.
    #[must_use]
    pub fn calls(&self) -> Vec<(String, String)> {
        self.lock().received.clone()
    }

    /// How many calls had an effect.
    #[must_use]
    pub fn effects(&self) -> usize {
        self.lock().effects.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(State(calls): State<Arc<Mutex<Calls>>>, headers: HeaderMap) -> Response {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let call = (header("x-session"), header("idempotency-key"));
    let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    calls.received.push(call.clone());
    if let Some(left) = calls.to_fail.checked_sub(1) {
        calls.to_fail = left;
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    calls.effects.insert(call);
    let usual = || json!({"output": {"charged": true}, "content": "charged"});
    Json(calls.answer.clone().unwrap_or_else(usual)).into_response()
}
