//! MCP servers as child processes.

use std::time::Duration;

use serde_json::json;
use tools::{ExecutorConfig, Kind};
use wire::Part;

use crate::setup::{TOKEN, call, config, error, executor, output, peer, run};

#[tokio::test]
async fn a_call_carries_arguments_session_and_key() {
    let executor = executor(peer(&["echo"]));
    let result = run(&executor, &call("echo", &json!({"city": "Pune"}))).await.unwrap();
    let output = serde_json::to_value(result.output).unwrap();
    assert_eq!(output["arguments"], json!({"city": "Pune"}));
    assert_eq!(output["meta"]["agentsessions/session"], "session-1");
    assert_eq!(output["meta"]["agentsessions/idempotency-key"], "key-1");
    assert_eq!(output["meta"]["agentsessions/call"], "call-1");
}

#[tokio::test]
async fn one_process_serves_all_calls_at_once() {
    let executor = executor(peer(&["pid", "silence"]));
    let pid = output(&executor, "pid").await;
    let others = async { (output(&executor, "pid").await, output(&executor, "pid").await) };
    tokio::select! {
        error = error(&executor, "silence") => panic!("{error}"),
        others = others => assert_eq!(others, (pid.clone(), pid)),
    }
}

#[tokio::test]
async fn a_tool_that_failed_is_a_result_and_a_call_that_is_refused_an_error() {
    let executor = executor(peer(&["fail", "refuse"]));
    let failed = run(&executor, &call("fail", &json!({}))).await.unwrap();
    assert_eq!((failed.is_error, &*failed.error), (true, "there is no such city"));
    assert_eq!(failed.content, [Part::text("there is no such city")]);
    let refused = run(&executor, &call("refuse", &json!({"secret": 1}))).await.unwrap_err();
    assert_eq!(refused.to_string(), "executor: it refused the call (json-rpc -32602)");
}

#[tokio::test]
async fn a_server_that_died_is_started_again_for_the_next_call() {
    let executor = executor(peer(&["pid", "exit"]));
    let first = output(&executor, "pid").await;
    assert_eq!(error(&executor, "exit").await, "executor: it ended before it answered");
    let second = output(&executor, "pid").await;
    assert_ne!(first, second);
    assert_eq!(output(&executor, "pid").await, second);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_an_error() {
    let missing = error(&executor(config(Kind::McpStdio, "/does/not/exist")), "tool").await;
    assert!(missing.starts_with("executor: it cannot be started: No such file"), "{missing}");
    let mute = error(&executor(config(Kind::McpStdio, "true")), "tool").await;
    assert!(mute.starts_with("executor: it cannot be started: ") || mute.contains("ended before"), "{mute}");
}

#[tokio::test]
async fn a_silent_tool_is_given_up_and_its_server_serves_on() {
    let config = ExecutorConfig { timeout: Duration::from_millis(500), ..peer(&["pid", "silence"]) };
    let executor = executor(config);
    let pid = output(&executor, "pid").await;
    assert_eq!(error(&executor, "silence").await, "executor: no result within 500ms");
    assert_eq!(output(&executor, "pid").await, pid);
}

#[tokio::test]
async fn a_server_that_answers_nothing_any_more_is_started_again() {
    let config = ExecutorConfig { timeout: Duration::from_millis(500), ..peer(&["pid", "block"]) };
    let executor = executor(config);
    let pid = output(&executor, "pid").await;
    for tool in ["block", "pid", "pid"] {
        assert_eq!(error(&executor, tool).await, "executor: no result within 500ms");
    }
    assert_ne!(output(&executor, "pid").await, pid);
}

#[tokio::test]
async fn an_answer_that_is_too_long_harms_its_own_call_only() {
    let config = ExecutorConfig { timeout: Duration::from_millis(500), ..peer(&["pid", "flood"]) };
    let executor = executor(config);
    let pid = output(&executor, "pid").await;
    assert_eq!(error(&executor, "flood").await, "executor: no result within 500ms");
    assert_eq!(output(&executor, "pid").await, pid);
}

#[tokio::test]
async fn a_server_is_given_the_variables_that_are_named_and_no_credential_of_the_node() {
    let config = ExecutorConfig { env: vec!["TOKEN".into()], ..peer(&["environment"]) };
    assert_eq!(output(&executor(config), "environment").await, json!({"TOKEN": TOKEN}));
}
