//! Connections: retries, time-outs, cancellation.

use std::time::Duration;

use async_trait::async_trait;
use controller::ports::{DeltaSink, ModelProvider};
use env::Env;
use model::{ModelConfig, OpenAi};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::client::{ask, hello, impatient, provider};
use crate::server::{Reply, Server};

fn answer() -> Reply {
    Reply::events([r#"{"choices":[{"index":0,"delta":{"content":"hi"}}]}"#, "[DONE]"])
}

fn refusal(status: u16, retry_after: &str) -> Reply {
    Reply::json(status, &json!({"error": {"message": "busy"}})).header("retry-after", retry_after)
}

#[tokio::test]
async fn a_connection_lost_before_the_answer_is_tried_again() {
    let server = Server::start([Reply::nothing(), Reply::nothing().then_reset(), answer()]).await;
    let outcome = ask(&impatient(server.config())).await;
    assert_eq!(outcome.completion().message.text_content(), "hi");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn retries_are_bounded() {
    let server = Server::start([]).await;
    let outcome = ask(&impatient(server.config())).await;
    assert_eq!(outcome.error(), "openai: m: the connection was lost before an answer began");
    assert_eq!(server.requests().len(), 3);

    let never = ModelConfig { retries: 0, ..server.config() };
    ask(&never).await.error();
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_kept_connection_that_the_provider_closed_costs_no_request() {
    let server = Server::start([answer().then_close(), answer()]).await;
    let provider = provider(&impatient(server.config()), None);
    for _ in 0..2 {
        let outcome = crate::client::complete(&provider, &hello()).await;
        assert_eq!(outcome.deltas, ["hi"]);
    }
}

#[tokio::test]
async fn a_provider_that_says_when_to_come_back_is_asked_again() {
    for status in [429, 503] {
        let server = Server::start([refusal(status, "0"), answer()]).await;
        assert_eq!(ask(&impatient(server.config())).await.completion().message.text_content(), "hi");
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_provider_that_is_away_for_too_long_is_not_waited_for() {
    let server = Server::start([refusal(429, "21"), refusal(429, "20")]).await;
    assert_eq!(ask(&server.config()).await.error(), "openai: m: busy (http 429)");
    let short = ModelConfig { timeout: Duration::from_secs(19), ..server.config() };
    assert_eq!(ask(&short).await.error(), "openai: m: busy (http 429)");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_told_without_the_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let config = ModelConfig { model: "m".into(), base_url: format!("http://{addr}"), ..ModelConfig::default() };
    let outcome = ask(&impatient(config)).await;
    assert!(outcome.error().starts_with("openai: m: cannot connect: "), "{outcome:?}");
    assert!(!outcome.error().contains(&addr.to_string()), "{outcome:?}");
}

#[tokio::test]
async fn a_peer_that_is_not_trusted_is_told_so_and_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}", listener.local_addr().unwrap());
    let config = ModelConfig { model: "m".into(), base_url, ..ModelConfig::default() };
    // A machine without CA certificates cannot speak https at all, and says so at once.
    let provider = match OpenAi::new(&impatient(config), None, Env::system()) {
        Ok(provider) => provider,
        Err(error) => return assert!(error.to_string().contains("CA certificates"), "{error}"),
    };
    let accept_once = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        drop(listener);
        stream
    };
    let call = hello();
    let (outcome, _stream) = tokio::join!(crate::client::complete(&provider, &call), accept_once);
    assert!(outcome.error().starts_with("openai: m: no trusted connection: "), "{outcome:?}");
}

/// Tells the test of every text.
struct Told(mpsc::Sender<String>);

#[async_trait]
impl DeltaSink for Told {
    async fn text(&mut self, chunk: String) {
        let _ = self.0.send(chunk).await;
    }
}

#[tokio::test]
async fn a_cancelled_request_closes_its_connection() {
    let begun = Reply::events([r#"{"choices":[{"index":0,"delta":{"content":"hi"}}]}"#]).then_silence();
    let server = Server::start([begun]).await;
    let provider = provider(&server.config(), None);
    let (sender, mut told) = mpsc::channel(1);
    let mut sink = Told(sender);
    let call = hello();
    tokio::select! {
        result = provider.complete(&call, &mut sink) => panic!("the provider is silent: {result:?}"),
        text = told.recv() => assert_eq!(text.as_deref(), Some("hi")),
    }
    server.hung_up().await;
}
