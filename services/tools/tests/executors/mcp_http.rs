//! MCP servers behind streamable HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tools::{ExecutorConfig, Kind};

use crate::setup::{TOKEN, call, config, error, executor, run, serve};

/// How the server answers `tools/call`.
#[derive(Clone, Copy)]
enum Manner {
    Whole,
    Stream,
    Long,
    Unavailable,
    /// A status with a body of JSON, as proxies like to answer.
    Forbidden,
    Silent,
}

struct Mcp {
    manner: Manner,
    calls: Mutex<Vec<HeaderMap>>,
}

async fn server(manner: Manner) -> (Arc<Mcp>, ExecutorConfig) {
    let mcp = Arc::new(Mcp { manner, calls: Mutex::default() });
    let url = serve(Router::new().route("/", post(answer)).with_state(mcp.clone())).await;
    (mcp, ExecutorConfig { timeout: Duration::from_secs(5), ..config(Kind::McpHttp, &url) })
}

async fn answer(State(mcp): State<Arc<Mcp>>, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "server", "version": "1"}}),
        Some("tools/call") => {
            mcp.calls.lock().unwrap().push(headers);
            json!({"content": [], "structuredContent": message["params"]})
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let called = message["method"] == "tools/call";
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    let session = ("mcp-session-id", "mcp-1");
    let typed = |kind, body| ([session, ("content-type", kind)], body).into_response();
    match mcp.manner {
        Manner::Stream if called => typed("text/event-stream", format!("data: {reply}\n\n")),
        Manner::Long if called => typed("application/json", "x".repeat(100_000)),
        Manner::Unavailable if called => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Manner::Forbidden if called => (StatusCode::FORBIDDEN, axum::Json(json!({"error": "no"}))).into_response(),
        Manner::Silent if called => std::future::pending().await,
        _ => typed("application/json", reply),
    }
}

#[tokio::test]
async fn answers_come_whole_or_as_a_stream() {
    for manner in [Manner::Whole, Manner::Stream] {
        let (_, config) = server(manner).await;
        let result = run(&executor(config), &call("tool", &json!({"city": "Pune"}))).await.unwrap();
        let asked = serde_json::to_value(result.output).unwrap();
        assert_eq!(asked["arguments"], json!({"city": "Pune"}));
        assert_eq!(asked["_meta"]["agentsessions/idempotency-key"], "key-1");
    }
}

#[tokio::test]
async fn credentials_are_sent_with_every_call() {
    let (mcp, config) = server(Manner::Whole).await;
    let headers = BTreeMap::from([("x-api-key".to_owned(), "TOKEN".to_owned())]);
    run(&executor(ExecutorConfig { headers, ..config }), &call("tool", &json!({}))).await.unwrap();
    assert_eq!(mcp.calls.lock().unwrap()[0]["x-api-key"], TOKEN);
}

#[tokio::test]
async fn what_keeps_a_server_from_answering_is_told() {
    let cases = [
        (Manner::Long, "executor: its answer is longer than 65536 bytes"),
        (Manner::Unavailable, "executor: it refused the call (http 503)"),
        (Manner::Forbidden, "executor: it refused the call (http 403)"),
        (Manner::Silent, "executor: no result within 1s"),
    ];
    for (manner, expected) in cases {
        let (mcp, config) = server(manner).await;
        let config = ExecutorConfig { timeout: Duration::from_secs(1), ..config };
        assert_eq!(error(&executor(config), "tool").await, expected);
        assert_eq!(mcp.calls.lock().unwrap().len(), 1, "{expected}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = error(&executor(config(Kind::McpHttp, &url)), "tool").await;
    assert!(error.starts_with("executor: cannot connect: "), "{error}");
}
