//! Answers that do not go well.

use std::time::Duration;

use model::ModelConfig;
use serde_json::json;
use wire::{FilePart, Message, ModelCall, part};

use crate::client::{ask, complete, impatient, provider};
use crate::server::{Reply, Server};

const MIB: usize = 1024 * 1024;

const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"begun"}}]}"#;

/// The error of a request that is answered so, which must be the only one.
async fn error_of(reply: Reply) -> String {
    let server = Server::start([reply]).await;
    let outcome = ask(&impatient(server.config())).await;
    assert_eq!(server.requests().len(), 1, "sent again: {outcome:?}");
    outcome.error().to_owned()
}

#[tokio::test]
async fn a_refusal_is_told_in_the_words_of_the_provider_with_its_status() {
    let object = json!({"error": {"message": "that went wrong", "type": "t", "code": null}});
    for status in [400, 401, 403, 404, 429, 500, 502, 503] {
        let expected = format!("openai: m: that went wrong (http {status})");
        assert_eq!(error_of(Reply::json(status, &object)).await, expected);
    }
    assert_eq!(error_of(Reply::json(404, &json!({"error": "no"}))).await, "openai: m: no (http 404)");
    assert_eq!(error_of(Reply::json(404, &json!({"message": "no"}))).await, "openai: m: no (http 404)");
}

#[tokio::test]
async fn a_refusal_without_words_is_told_by_the_name_of_its_status() {
    let page = || Reply::status(502).header("content-type", "text/html").pieces(["<html>secrets of a proxy</html>"]);
    assert_eq!(error_of(page()).await, "openai: m: Bad Gateway (http 502)");
    assert_eq!(error_of(page().then_close()).await, "openai: m: Bad Gateway (http 502)");
    assert_eq!(error_of(Reply::status(503)).await, "openai: m: Service Unavailable (http 503)");
    assert_eq!(error_of(Reply::status(499)).await, "openai: m: the provider gave no reason (http 499)");
}

#[tokio::test]
async fn a_long_refusal_is_cut() {
    let long = json!({"error": {"message": "x".repeat(1000)}});
    let expected = format!("openai: m: {}… (http 400)", "x".repeat(300));
    assert_eq!(error_of(Reply::json(400, &long)).await, expected);
    let endless = Reply::status(500).pieces(vec![vec![b' '; MIB]; 3]);
    assert_eq!(error_of(endless).await, "openai: m: Internal Server Error (http 500)");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::start([]).await;
    let target = format!("http://{}/elsewhere", server.addr());
    let reply = Reply::status(307).header("location", &target);
    assert_eq!(error_of(reply).await, "openai: m: redirects are not followed; check base_url (http 307)");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_stream_that_breaks_is_an_error_and_is_not_asked_for_again() {
    let begun = || Reply::events([TEXT]);
    assert_eq!(error_of(begun()).await, "openai: m: the stream ended before [DONE]");
    let broken = error_of(begun().then_close()).await;
    assert!(broken.starts_with("openai: m: the answer broke off: "), "{broken}");
    let broken = error_of(begun().then_reset()).await;
    assert!(broken.starts_with("openai: m: the answer broke off: "), "{broken}");
    let silent = error_of(Reply::stream([""; 0]).then_close()).await;
    assert!(silent.starts_with("openai: m: the answer broke off: "), "{silent}");
}

#[tokio::test]
async fn text_before_the_break_has_been_told() {
    let server = Server::start([Reply::events([TEXT]).then_close()]).await;
    let outcome = ask(&server.config()).await;
    assert_eq!(outcome.deltas, ["begun"]);
    outcome.error();
}

#[tokio::test]
async fn a_stream_of_something_else_is_an_error() {
    let malformed = "openai: m: the provider sent something that is no chat completion";
    assert_eq!(error_of(Reply::events([TEXT, "{\"choices\":", "[DONE]"])).await, malformed);
    assert_eq!(
        error_of(Reply::stream([&b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n"[..]])).await,
        malformed
    );
    let failed = r#"{"error":{"message":"model\noverloaded","code":502}}"#;
    let expected = "openai: m: the provider reported an error: model overloaded";
    assert_eq!(error_of(Reply::events([TEXT, failed, "[DONE]"])).await, expected);
    assert_eq!(error_of(Reply::events(["[DONE]"])).await, "openai: m: the answer holds no choice");
}

#[tokio::test]
async fn a_whole_answer_of_something_else_is_an_error() {
    let page = Reply::status(200).header("content-type", "text/html").pieces(["<html>"]);
    let expected = "openai: m: the answer is neither JSON nor an event stream";
    assert_eq!(error_of(page).await, expected);
    assert_eq!(error_of(Reply::json(200, &json!({"choices": []}))).await, "openai: m: the answer holds no choice");
    let expected = "openai: m: the provider reported an error: no";
    assert_eq!(error_of(Reply::json(200, &json!({"error": {"message": "no"}}))).await, expected);
    let cut = Reply::json(200, &json!({"choices": []})).then_close();
    assert!(error_of(cut).await.starts_with("openai: m: the answer broke off: "));
}

#[tokio::test]
async fn bad_arguments_of_a_tool_call_are_an_error() {
    let call =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}"#;
    let expected = "openai: m: the arguments of a tool call are not a JSON object";
    assert_eq!(error_of(Reply::events([call, "[DONE]"])).await, expected);
}

#[tokio::test]
async fn a_line_beyond_8_mib_is_an_error() {
    let line = Reply::stream(std::iter::once(b"data: ".to_vec()).chain(vec![vec![b'x'; MIB]; 8])).then_silence();
    assert_eq!(error_of(line).await, "openai: m: a line of the stream is longer than 8388608 bytes");
}

#[tokio::test]
async fn an_answer_beyond_8_mib_is_an_error() {
    let body = Reply::status(200).header("content-type", "application/json");
    let body = body.pieces(vec![vec![b' '; MIB]; 8]).pieces([" "]).then_silence();
    assert_eq!(error_of(body).await, "openai: m: the answer is longer than 8388608 bytes");
}

#[tokio::test]
async fn a_silent_provider_is_given_up_before_and_within_its_answer() {
    for reply in [Reply::nothing().then_silence(), Reply::events([TEXT]).then_silence()] {
        let server = Server::start([reply]).await;
        let idle = ModelConfig { idle_timeout: Duration::from_millis(200), ..server.config() };
        assert_eq!(ask(&idle).await.error(), "openai: m: the provider was silent for 200ms");
        server.hung_up().await;
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_whole_request_has_a_bound() {
    let server = Server::start([Reply::events([TEXT]).then_silence()]).await;
    let short = ModelConfig { timeout: Duration::from_millis(200), ..server.config() };
    assert_eq!(ask(&short).await.error(), "openai: m: no complete answer within 200ms");
    server.hung_up().await;
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_the_provider_is_asked() {
    let server = Server::start([]).await;
    let file = part::Part::File(FilePart::default()).into();
    let messages = vec![Message { role: "user".into(), parts: vec![file] }];
    let call = ModelCall { messages, ..ModelCall::default() };
    let outcome = complete(&provider(&server.config(), None), &call).await;
    assert_eq!(outcome.error(), "openai: m: a file part cannot be sent to this provider");
    assert_eq!(server.connections(), 0);
}
