//! Credentials are in request headers, and nowhere else; so are arguments and results in bodies.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use serde_json::json;
use tools::ExecutorConfig;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;

use crate::endpoint::{Endpoint, Reply};
use crate::setup::{TOKEN, call, executor, peer, run};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn credentials_arguments_and_answers_are_in_no_error_no_debug_output_and_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || writer.clone());
    // As the node has it: the MCP library quotes messages below level error.
    let filter = Targets::new().with_default(LevelFilter::TRACE).with_target("rmcp", LevelFilter::ERROR);
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines).with(filter));

    let quoting = format!("{TOKEN} argument-1 answer-1");
    let replies = [
        Reply::status(StatusCode::UNAUTHORIZED, &quoting),
        Reply::status(StatusCode::OK, &quoting),
        Reply::json(&json!({"content": quoting})),
    ];
    let endpoint = Endpoint::start(replies).await;
    let headers = BTreeMap::from([("authorization".to_owned(), "TOKEN".to_owned())]);
    let config = ExecutorConfig { headers, ..endpoint.config() };
    let mut seen = format!("{config:?}");
    let http = executor(config);
    let arguments = json!({"secret": "argument-1"});
    for _ in 0..2 {
        seen += &run(&http, &call("tool", &arguments)).await.unwrap_err().to_string();
    }
    run(&http, &call("tool", &arguments)).await.unwrap();
    assert!(endpoint.requests().iter().all(|request| request.headers["authorization"] == TOKEN));

    let mcp = executor(ExecutorConfig { env: vec!["TOKEN".into()], ..peer(&["echo", "environment", "refuse"]) });
    seen += &run(&mcp, &call("refuse", &arguments)).await.unwrap_err().to_string();
    for tool in ["echo", "environment"] {
        run(&mcp, &call(tool, &arguments)).await.unwrap();
    }
    seen += &String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(seen.contains("tool ran") && seen.contains("tool failed"), "{seen}");
    for secret in [TOKEN, "argument-1", "answer-1"] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
}
