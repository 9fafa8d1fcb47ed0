//! Answers that go well.

use serde_json::json;
use wire::part::Part;
use wire::reasoning_part::Opaque;
use wire::{Message, ModelCall, ReasoningPart, ToolCall, ToolDefinition};

use crate::client::{ask, complete, hello, provider};
use crate::server::{Reply, Server};

const HELLO: [&str; 6] = [
    r#"{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"Grüß "},"finish_reason":null}],"usage":null}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"dich 🦀"},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}"#,
    "[DONE]",
];

fn stream_text(line_end: &str) -> String {
    let events = HELLO.iter().map(|data| format!("data: {data}{line_end}{line_end}"));
    format!(": ping{line_end}{line_end}") + &events.collect::<String>()
}

#[tokio::test]
async fn text_arrives_in_pieces_that_join_to_the_message() {
    let server = Server::start([Reply::events(HELLO)]).await;
    let outcome = ask(&server.config()).await;
    assert_eq!(outcome.deltas, ["Grüß ", "dich 🦀"]);
    assert_eq!(outcome.completion().message, Message::text("assistant", "Grüß dich 🦀"));
    assert!(outcome.completion().streamed);
}

#[tokio::test]
async fn the_request_is_a_post_of_a_streamed_chat_completion() {
    let server = Server::start([Reply::events(HELLO)]).await;
    ask(&server.config()).await;
    let request = server.requests().remove(0);
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.header("content-type"), Some("application/json"));
    let expected = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}],
        "stream": true, "stream_options": {"include_usage": true}});
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn every_boundary_between_two_bytes_gives_the_same_answer() {
    for line_end in ["\n", "\r\n"] {
        let stream = stream_text(line_end).into_bytes();
        let halves = (1..stream.len()).map(|at| vec![stream[..at].to_vec(), stream[at..].to_vec()]);
        let bytes = stream.iter().map(|byte| vec![*byte]).collect::<Vec<_>>();
        let splits: Vec<_> = halves.chain([bytes]).collect();
        let server = Server::start(splits.iter().cloned().map(Reply::stream)).await;
        let provider = provider(&server.config(), None);
        for split in &splits {
            let outcome = complete(&provider, &hello()).await;
            assert_eq!(outcome.deltas, ["Grüß ", "dich 🦀"], "{}", split[0].len());
            assert_eq!(outcome.completion().message.text_content(), "Grüß dich 🦀");
        }
    }
}

#[tokio::test]
async fn tool_calls_are_put_together_from_their_fragments() {
    let fragment = |call: serde_json::Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let chunks = [
        fragment(json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}})),
        fragment(json!({"index": 0, "function": {"arguments": "{\"a\":"}})),
        fragment(json!({"index": 1, "id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}})),
        fragment(json!({"index": 0, "function": {"arguments": "1}"}})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]
    .map(|chunk| chunk.to_string());
    let events = chunks.iter().map(String::as_str).chain(["[DONE]"]);
    let server = Server::start([Reply::events(events)]).await;
    let tools = vec![ToolDefinition { name: "add".into(), ..ToolDefinition::default() }];
    let outcome = complete(&provider(&server.config(), None), &ModelCall { tools, ..hello() }).await;

    let call = |id: &str, tool: &str, args| {
        let args = Some(serde_json::from_value(args).unwrap());
        Part::ToolCall(ToolCall { id: id.into(), tool: tool.into(), args, ..ToolCall::default() }).into()
    };
    let expected = [call("c1", "add", json!({"a": 1})), call("c2", "now", json!({}))];
    assert_eq!(outcome.completion().message.parts, expected);
    assert_eq!(outcome.deltas, [""; 0]);
    let sent = json!([{"type": "function", "function": {"name": "add"}}]);
    assert_eq!(server.requests()[0].body["tools"], sent);
}

#[tokio::test]
async fn reasoning_is_kept_before_the_text_and_is_not_told() {
    let events = [
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"yes"}}]}"#,
        "[DONE]",
    ];
    let server = Server::start([Reply::events(events)]).await;
    let outcome = ask(&server.config()).await;
    let reasoning = ReasoningPart {
        provider: "openai".into(),
        model_id: "m".into(),
        opaque: Some(Opaque::OpaqueBytes(b"hm".to_vec())),
        ..ReasoningPart::default()
    };
    let expected = [Part::Reasoning(reasoning).into(), wire::Part::text("yes")];
    assert_eq!(outcome.completion().message.parts, expected);
    assert_eq!(outcome.deltas, ["yes"]);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi",
        "reasoning_content": null, "refusal": null}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}});
    let server = Server::start([Reply::json(200, &answer)]).await;
    let outcome = ask(&server.config()).await;
    assert_eq!(outcome.completion().message, Message::text("assistant", "hi"));
    assert!(!outcome.completion().streamed);
    assert_eq!(outcome.deltas, [""; 0]);
}

#[tokio::test]
async fn only_requests_without_a_model_of_their_own_get_the_configured_one() {
    let server = Server::start(vec![Reply::events(HELLO); 3]).await;
    let provider = provider(&server.config(), None);
    for model in ["", "echo", "other"] {
        complete(&provider, &ModelCall { model: model.into(), ..hello() }).await;
    }
    let asked: Vec<_> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(asked, ["m", "m", "other"]);
}

#[tokio::test]
async fn what_follows_the_end_is_ignored() {
    let server = Server::start([Reply::events(HELLO).pieces(["data: nonsense\n\n"])]).await;
    assert_eq!(ask(&server.config()).await.completion().message.text_content(), "Grüß dich 🦀");
}

#[tokio::test]
async fn the_last_event_may_lack_its_empty_line() {
    let stream = stream_text("\n");
    let server = Server::start([Reply::stream([stream.trim_end()])]).await;
    assert_eq!(ask(&server.config()).await.completion().message.text_content(), "Grüß dich 🦀");
}

#[tokio::test]
async fn a_finished_stream_leaves_its_connection_to_the_next_request() {
    let server = Server::start(vec![Reply::events(HELLO); 3]).await;
    let provider = provider(&server.config(), None);
    for _ in 0..3 {
        complete(&provider, &hello()).await.completion();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn without_a_configured_model_echo_answers_and_only_as_echo() {
    let provider = model::provider(&model::ModelConfig::default(), None, env::Env::system()).unwrap();
    let mut deltas = crate::client::Deltas::default();
    for model in ["", "echo"] {
        let call = ModelCall { model: model.into(), ..hello() };
        let completion = provider.complete(&call, &mut deltas).await.unwrap();
        assert_eq!(completion.message, Message::text("assistant", "echo:hello"));
        assert!(!completion.streamed);
    }
    assert_eq!(deltas.0, [""; 0]);
    let nothing = provider.complete(&ModelCall::default(), &mut deltas).await.unwrap();
    assert_eq!(nothing.message, Message::text("assistant", "echo:"));
    let other = ModelCall { model: "gpt".into(), ..hello() };
    assert!(provider.complete(&other, &mut deltas).await.unwrap_err().to_string().starts_with("echo: "));
}
