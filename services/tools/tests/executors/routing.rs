//! Which calls go where.

use std::collections::BTreeMap;

use controller::ports::ToolError;
use serde_json::json;
use tools::{ExecutorConfig, Kind};

use crate::endpoint::{Endpoint, Reply};
use crate::setup::{call, config, executor, executors, run};

#[tokio::test]
async fn a_tool_that_no_executor_lists_is_refused_and_nobody_is_asked() {
    let endpoint = Endpoint::start([Reply::json(&json!({}))]).await;
    let executor = executor(endpoint.config());
    for tool in ["other", "Tool", "tool ", ""] {
        let refusal = run(&executor, &call(tool, &json!({}))).await.unwrap_err();
        assert_eq!(refusal, ToolError::NotConfigured, "{tool}");
    }
    assert!(endpoint.requests().is_empty());
}

#[tokio::test]
async fn each_tool_goes_to_its_own_executor() {
    let (one, other) = (Endpoint::start([Reply::json(&json!({}))]).await, Endpoint::start([]).await);
    let configs = [one.config(), ExecutorConfig { name: "b".into(), tools: vec!["b".into()], ..other.config() }];
    run(&executors(&configs).unwrap(), &call("tool", &json!({}))).await.unwrap();
    assert_eq!((one.requests().len(), other.requests().len()), (1, 0));
}

#[test]
fn what_is_wrong_with_configuration_and_environment_is_told_at_once() {
    let headers = BTreeMap::from([("authorization".to_owned(), "NOWHERE".to_owned())]);
    let unset = ExecutorConfig { headers, ..config(Kind::Http, "http://127.0.0.1:1") };
    let empty = ExecutorConfig { name: "b".into(), tools: Vec::new(), ..config(Kind::McpStdio, "server") };
    let problems = executors(&[unset, empty]).err().unwrap().to_string();
    let expected = "tools.b: tools must list the tools that it runs; \
        tools.executor: environment variable NOWHERE is not set";
    assert_eq!(problems, expected);
}
