//! HTTP endpoints.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use tokio::net::TcpListener;
use tools::{ExecutorConfig, Kind};
use wire::Part;

use crate::endpoint::{Endpoint, Reply};
use crate::setup::{call, config, error, executor, run};

#[tokio::test]
async fn a_call_carries_session_key_and_arguments_and_comes_back_as_a_result() {
    let answer = json!({"output": {"degrees": 21.5}, "content": "It is warm."});
    let endpoint = Endpoint::start([Reply::json(&answer)]).await;
    let result =
        run(&executor(endpoint.config()), &call("tool", &json!({"city": "Pune", "days": [1, 2]}))).await.unwrap();
    assert_eq!(serde_json::to_value(&result.output).unwrap(), json!({"degrees": 21.5}));
    assert_eq!((result.content, result.is_error), (vec![Part::text("It is warm.")], false));

    let requests = endpoint.requests();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(request.headers["idempotency-key"], "key-1");
    assert_eq!(request.headers["x-session"], "session-1");
    assert_eq!(request.headers["content-type"], "application/json");
    let expected = json!({"session": "session-1", "idempotency_key": "key-1", "id": "call-1", "tool": "tool",
        "args": {"city": "Pune", "days": [1, 2]}});
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn a_call_that_is_made_again_is_the_same_request() {
    let endpoint = Endpoint::start([Reply::json(&json!({})), Reply::json(&json!({}))]).await;
    for _ in 0..2 {
        // As after a crash: nothing of the first executor is left.
        run(&executor(endpoint.config()), &call("tool", &json!({"n": 1}))).await.unwrap();
    }
    let requests = endpoint.requests();
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].headers["idempotency-key"], requests[1].headers["idempotency-key"]);
}

#[tokio::test]
async fn a_tool_that_failed_is_a_result_and_not_an_error() {
    let endpoint = Endpoint::start([Reply::json(&json!({"is_error": true, "error": "no such city"}))]).await;
    let result = run(&executor(endpoint.config()), &call("tool", &json!({}))).await.unwrap();
    assert_eq!((result.is_error, &*result.error), (true, "no such city"));
}

#[tokio::test]
async fn an_endpoint_that_refuses_is_asked_once_and_not_quoted() {
    for status in [StatusCode::BAD_REQUEST, StatusCode::SERVICE_UNAVAILABLE] {
        let endpoint = Endpoint::start([Reply::status(status, "do not quote me")]).await;
        let expected = format!("executor: it refused the call (http {})", status.as_u16());
        assert_eq!(error(&executor(endpoint.config()), "tool").await, expected);
        assert_eq!(endpoint.requests().len(), 1);
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Endpoint::start([]).await;
    let endpoint = Endpoint::start([Reply::Redirect(elsewhere.url.clone())]).await;
    assert_eq!(error(&executor(endpoint.config()), "tool").await, "executor: it refused the call (http 307)");
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_refused() {
    let content = "x".repeat(2000);
    let endpoint = Endpoint::start([Reply::json(&json!({"content": content}))]).await;
    let executor = executor(ExecutorConfig { max_response: 1000, ..endpoint.config() });
    assert_eq!(error(&executor, "tool").await, "executor: its answer is longer than 1000 bytes");
}

#[tokio::test]
async fn an_endpoint_that_is_silent_is_given_up() {
    let endpoint = Endpoint::start([Reply::Silence]).await;
    let executor = executor(ExecutorConfig { timeout: Duration::from_millis(200), ..endpoint.config() });
    assert_eq!(error(&executor, "tool").await, "executor: no result within 200ms");
    assert_eq!(endpoint.requests().len(), 1);
}

#[tokio::test]
async fn a_call_that_may_have_arrived_is_not_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let executor = executor(config(Kind::Http, &url));
    let lost = async {
        drop(listener.accept().await.unwrap());
        listener.accept().await
    };
    tokio::select! {
        error = error(&executor, "tool") => {
            assert_eq!(error, "executor: the connection was lost before an answer began");
        }
        again = lost => panic!("{again:?}"),
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_told_without_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?key=s3cret", listener.local_addr().unwrap());
    drop(listener);
    let error = error(&executor(config(Kind::Http, &url)), "tool").await;
    assert!(error.starts_with("executor: cannot connect: ") && !error.contains("s3cret"), "{error}");
}
