//! Executors, calls and servers for them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use controller::ports::{ToolError, ToolExecutor};
use env::{Env, TaskKind, Tasks};
use journal::SessionUid;
use serde_json::Value;
use tokio::net::TcpListener;
use tools::{ExecutorConfig, InvalidTools, Kind};
use wire::{ToolCall, ToolResult};

pub const TOKEN: &str = "s3cret-t0ken";

/// An executor of tool `tool`.
pub fn config(kind: Kind, place: &str) -> ExecutorConfig {
    let remote = kind != Kind::McpStdio;
    let at = |here: bool| if here { place.to_owned() } else { String::new() };
    ExecutorConfig {
        name: "executor".into(),
        kind,
        url: at(remote),
        headers: BTreeMap::new(),
        command: at(!remote),
        args: Vec::new(),
        env: Vec::new(),
        tools: vec!["tool".into()],
        timeout: Duration::from_secs(30),
        max_response: 64 * 1024,
    }
}

/// The server in `examples/mcp_peer.rs`, as an executor of `tools`.
pub fn peer(tools: &[&str]) -> ExecutorConfig {
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.ancestors().nth(2).unwrap().join("examples/mcp_peer");
    assert!(path.exists(), "{} is not built: run `cargo build --examples` in the same profile", path.display());
    ExecutorConfig {
        tools: tools.iter().map(ToString::to_string).collect(),
        ..config(Kind::McpStdio, path.to_str().unwrap())
    }
}

/// The environment of these tests.
pub fn variables(name: &str) -> Option<OsString> {
    match name {
        "TOKEN" => Some(TOKEN.into()),
        "MODEL_API_KEY" => Some("sk-model".into()),
        _ => None,
    }
}

pub fn executors(configs: &[ExecutorConfig]) -> Result<Arc<dyn ToolExecutor>, InvalidTools> {
    tools::executor(configs, &variables, &Env::system()).map(Option::unwrap)
}

pub fn executor(config: ExecutorConfig) -> Arc<dyn ToolExecutor> {
    executors(&[config]).unwrap()
}

pub fn call(tool: &str, args: &Value) -> ToolCall {
    ToolCall {
        id: "call-1".into(),
        tool: tool.into(),
        args: Some(serde_json::from_value(args.clone()).unwrap()),
        idempotency_key: "key-1".into(),
        ..ToolCall::default()
    }
}

pub async fn run(executor: &Arc<dyn ToolExecutor>, call: &ToolCall) -> Result<ToolResult, ToolError> {
    executor.execute(&SessionUid::parse("session-1").unwrap(), call).await
}

/// The error of a call without arguments.
pub async fn error(executor: &Arc<dyn ToolExecutor>, tool: &str) -> String {
    run(executor, &call(tool, &serde_json::json!({}))).await.unwrap_err().to_string()
}

/// The output of a call without arguments.
pub async fn output(executor: &Arc<dyn ToolExecutor>, tool: &str) -> Value {
    let result = run(executor, &call(tool, &serde_json::json!({}))).await.unwrap();
    serde_json::to_value(result.output).unwrap()
}

/// Serves `app` on a free port until the test ends.
pub async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    Tasks::default().spawn("server", TaskKind::Background, async move {
        axum::serve(listener, app).await.unwrap();
    });
    url
}
