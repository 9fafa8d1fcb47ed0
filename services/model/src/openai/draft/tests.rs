use serde_json::{Value, json};

use super::*;

const LIMIT: usize = 1000;

/// Adds the chunks; the texts that came out, and the message.
fn build(chunks: impl IntoIterator<Item = Value>) -> Result<(Vec<String>, Message), BadAnswer> {
    let mut draft = Draft::new(LIMIT);
    let mut texts = Vec::new();
    for chunk in chunks {
        texts.extend(draft.add(chunk.to_string().as_bytes())?);
    }
    Ok((texts, draft.into_message("m")?))
}

fn refusal(chunks: impl IntoIterator<Item = Value>) -> String {
    build(chunks).unwrap_err().to_string()
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn call_delta(call: &Value) -> Value {
    delta(&json!({"tool_calls": [call]}))
}

fn call(id: &str, tool: &str, args: Value) -> wire::Part {
    let args = Some(serde_json::from_value(args).unwrap());
    Part::ToolCall(ToolCall { id: id.into(), tool: tool.into(), args, ..ToolCall::default() }).into()
}

#[test]
fn texts_join_and_empty_ones_are_not_told() {
    let chunks = [
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "hé"})),
        delta(&json!({"content": null})),
        delta(&json!({"content": "llo"})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 1}}),
    ];
    let (texts, message) = build(chunks).unwrap();
    assert_eq!(texts, ["hé", "llo"]);
    assert_eq!(message, Message::text("assistant", "héllo"));
}

#[test]
fn reasoning_goes_before_the_text_as_opaque_bytes() {
    let chunks = ["think", "ing"].map(|text| delta(&json!({"reasoning_content": text})));
    let (texts, message) = build(chunks.into_iter().chain([delta(&json!({"content": "yes"}))])).unwrap();
    let reasoning = ReasoningPart {
        provider: "openai".into(),
        model_id: "m".into(),
        opaque: Some(Opaque::OpaqueBytes(b"thinking".to_vec())),
        ..ReasoningPart::default()
    };
    assert_eq!(texts, ["yes"]);
    assert_eq!(message.parts, [Part::Reasoning(reasoning).into(), wire::Part::text("yes")]);
}

#[test]
fn tool_calls_are_put_together_from_fragments_by_index() {
    let chunks = [
        call_delta(&json!({"index": 1, "id": "b", "type": "function", "function": {"name": "now", "arguments": ""}})),
        call_delta(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"x\""}})),
        call_delta(&json!({"index": 0, "function": {"arguments": ":1}"}})),
    ];
    let (_, message) = build(chunks).unwrap();
    assert_eq!(message.parts, [call("a", "add", json!({"x": 1})), call("b", "now", json!({}))]);
}

#[test]
fn fragments_without_an_index_belong_to_the_call_that_was_last_named() {
    let chunks = [
        call_delta(&json!({"id": "a", "function": {"name": "add", "arguments": "{\"x\""}})),
        call_delta(&json!({"function": {"arguments": ":1}"}})),
        call_delta(&json!({"id": "b", "function": {"name": "now", "arguments": "{}"}})),
    ];
    let (_, message) = build(chunks).unwrap();
    assert_eq!(message.parts, [call("a", "add", json!({"x": 1})), call("b", "now", json!({}))]);
}

#[test]
fn a_whole_answer_is_read_like_a_chunk() {
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "sum", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"x\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "add", "arguments": "{\"x\":2}"}},
    ]}, "finish_reason": "tool_calls"}]});
    let (_, message) = build([answer]).unwrap();
    let expected = [wire::Part::text("sum"), call("a", "add", json!({"x": 1})), call("b", "add", json!({"x": 2}))];
    assert_eq!(message.parts, expected);
}

#[test]
fn an_answer_of_nothing_is_an_empty_text() {
    assert_eq!(build([delta(&json!({}))]).unwrap().1, Message::text("assistant", ""));
}

#[test]
fn other_choices_than_the_first_are_ignored() {
    let other = json!({"choices": [{"index": 1, "delta": {"content": "no"}}]});
    assert_eq!(build([other.clone(), delta(&json!({"content": "yes"}))]).unwrap().0, ["yes"]);
    assert_eq!(refusal([other]), "the answer holds no choice");
}

#[test]
fn usage_is_the_last_one_told() {
    let mut draft = Draft::new(LIMIT);
    for tokens in [1, 2] {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 3,
            "completion_tokens_details": {"reasoning_tokens": tokens}}});
        draft.add(usage.to_string().as_bytes()).unwrap();
    }
    draft.add(br#"{"choices":[],"usage":null}"#).unwrap();
    assert_eq!((draft.usage().prompt_tokens, draft.usage().reasoning_tokens()), (2, 2));
}

#[test]
fn what_is_no_answer_is_refused_by_name() {
    let arguments = |text: &str| call_delta(&json!({"index": 0, "function": {"name": "add", "arguments": text}}));
    let cases = [
        (json!({"error": {"message": "overloaded", "code": 1}}), "the provider reported an error: overloaded"),
        (json!({"error": "overloaded"}), "the provider reported an error: overloaded"),
        (json!({"error": 7}), "the provider reported an error: it gave no reason"),
        (json!({"choices": 1}), "the provider sent something that is no chat completion"),
        (json!("text"), "the provider sent something that is no chat completion"),
        (json!({"choices": []}), "the answer holds no choice"),
        (arguments("{"), "the arguments of a tool call are not a JSON object"),
        (arguments("[1]"), "the arguments of a tool call are not a JSON object"),
        (arguments("{\"a\":1,\"a\":2}"), "the arguments of a tool call are not a JSON object"),
        (call_delta(&json!({"index": 0, "id": "a"})), "a tool call names no tool"),
        (delta(&json!({"content": "x".repeat(LIMIT + 1)})), "the answer is longer than 1000 bytes"),
        (arguments(&"x".repeat(LIMIT)), "the answer is longer than 1000 bytes"),
    ];
    for (chunk, expected) in cases {
        assert_eq!(refusal([chunk.clone()]), expected, "{chunk}");
    }
}
