use serde_json::{Value, json};
use wire::{DataPart, FilePart, ReasoningPart};

use super::*;

fn json_of(call: &ModelCall) -> Value {
    serde_json::from_slice(&body(call, "m").unwrap()).unwrap()
}

fn refusal(message: Message) -> String {
    body(&ModelCall { messages: vec![message], ..ModelCall::default() }, "m").unwrap_err().to_string()
}

fn messages(messages: Vec<Message>) -> Value {
    json_of(&ModelCall { messages, ..ModelCall::default() })["messages"].take()
}

fn message(role: &str, parts: impl IntoIterator<Item = Part>) -> Message {
    Message { role: role.into(), parts: parts.into_iter().map(Into::into).collect() }
}

fn text(text: &str) -> Part {
    Part::Text(wire::TextPart { text: text.into() })
}

fn structure(value: Value) -> protobuf::Struct {
    serde_json::from_value(value).unwrap()
}

fn result(result: ToolResult) -> Part {
    Part::ToolResult(ToolResult { id: "c1".into(), ..result })
}

#[test]
fn a_plain_request_has_model_messages_and_the_stream_members_only() {
    let call = ModelCall {
        model: "asked".into(),
        params: [("temperature".to_owned(), "1".to_owned())].into(),
        id: "id".into(),
        messages: vec![Message::text("system", "be brief"), Message::text("", "hello")],
        ..ModelCall::default()
    };
    let expected = json!({
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(json_of(&call), expected);
}

#[test]
fn text_parts_are_joined_and_reasoning_is_dropped() {
    let parts = [Part::Reasoning(ReasoningPart::default()), text("a"), text("b")];
    assert_eq!(messages(vec![message("assistant", parts)]), json!([{"role": "assistant", "content": "ab"}]));
    assert_eq!(messages(vec![message("user", [])]), json!([{"role": "user", "content": ""}]));
}

#[test]
fn tools_become_functions() {
    let call = ModelCall {
        tools: vec![
            ToolDefinition {
                name: "add".into(),
                description: "adds".into(),
                input_schema: Some(structure(json!({"type": "object", "required": ["a"]}))),
            },
            ToolDefinition { name: "now".into(), ..ToolDefinition::default() },
        ],
        ..ModelCall::default()
    };
    let expected = json!([
        {"type": "function", "function": {
            "name": "add", "description": "adds", "parameters": {"type": "object", "required": ["a"]}}},
        {"type": "function", "function": {"name": "now"}},
    ]);
    assert_eq!(json_of(&call)["tools"], expected);
}

#[test]
fn every_tool_choice_has_its_form() {
    let choice = |mode: i32, name: &str| {
        let tool_choice = Some(ToolChoice { mode, name: name.into() });
        body(&ModelCall { tool_choice, ..ModelCall::default() }, "m")
            .map(|body| serde_json::from_slice::<Value>(&body).unwrap()["tool_choice"].take())
    };
    assert_eq!(choice(Mode::Unspecified.into(), "x").unwrap(), Value::Null);
    assert_eq!(choice(Mode::Auto.into(), "").unwrap(), json!("auto"));
    assert_eq!(choice(Mode::None.into(), "").unwrap(), json!("none"));
    assert_eq!(choice(Mode::Required.into(), "").unwrap(), json!("required"));
    let named = json!({"type": "function", "function": {"name": "add"}});
    assert_eq!(choice(Mode::Required.into(), "add").unwrap(), named);
    assert_eq!(choice(9, "").unwrap_err().to_string(), "tool_choice.mode 9 is unknown");
}

#[test]
fn tool_calls_of_the_assistant_carry_their_arguments_as_json_text() {
    let call = |args| Part::ToolCall(ToolCall { id: "c1".into(), tool: "add".into(), args, ..ToolCall::default() });
    let expected = |content: Value, arguments: &str| {
        json!([{"role": "assistant", "content": content, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}}]}])
    };
    let args = Some(structure(json!({"a": 1, "b": [0.5, null]})));
    assert_eq!(messages(vec![message("assistant", [call(args)])]), expected(Value::Null, r#"{"a":1,"b":[0.5,null]}"#));
    assert_eq!(messages(vec![message("assistant", [text("hm"), call(None)])]), expected(json!("hm"), "{}"));
}

#[test]
fn every_tool_result_becomes_a_message_of_role_tool() {
    let output = Some(structure(json!({"sum": 3})));
    let cases = [
        (ToolResult { output: output.clone(), ..ToolResult::default() }, r#"{"sum":3}"#),
        (ToolResult { content: vec![text("three").into()], output: output.clone(), ..ToolResult::default() }, "three"),
        (ToolResult { is_error: true, error: "no".into(), output, ..ToolResult::default() }, "no"),
        (ToolResult::default(), ""),
    ];
    for (value, content) in cases {
        let expected = json!([{"role": "tool", "tool_call_id": "c1", "content": content}]);
        assert_eq!(messages(vec![message("tool", [result(value)])]), expected);
    }
    let two = message("tool", [result(ToolResult::default()), result(ToolResult::default())]);
    assert_eq!(messages(vec![two]).as_array().unwrap().len(), 2);
}

#[test]
fn what_has_no_form_is_refused_by_name() {
    let file = || Part::File(FilePart::default());
    let data = || Part::Data(DataPart::default());
    let shown = |part: Part| result(ToolResult { content: vec![part.into()], ..ToolResult::default() });
    let reference = result(ToolResult { output_uri: "s3://x".into(), ..ToolResult::default() });
    let cases = [
        (message("user", [text("a"), file()]), "a file part cannot be sent to this provider"),
        (message("user", [data()]), "a data part cannot be sent to this provider"),
        (message("tool", [shown(file())]), "a file part cannot be sent to this provider"),
        (message("tool", [text("3")]), "a message of role tool must hold tool results"),
        (
            message("tool", [text("3"), result(ToolResult::default())]),
            "a message with tool results must hold nothing else",
        ),
        (message("tool", [reference]), "a tool result that is only a reference cannot be sent to this provider"),
    ];
    for (message, expected) in cases {
        assert_eq!(refusal(message), expected);
    }
}

#[test]
fn an_argument_without_json_form_is_refused() {
    let args = protobuf::Struct { fields: [("a".to_owned(), protobuf::Value { kind: None })].into() };
    let call = Part::ToolCall(ToolCall { args: Some(args), ..ToolCall::default() });
    assert!(refusal(message("assistant", [call])).starts_with("the request has no JSON form: "));
}

#[test]
fn parts_of_no_kind_say_nothing() {
    let empty = Message { role: "user".into(), parts: vec![wire::Part { part: None::<Part> }] };
    assert_eq!(messages(vec![empty]), json!([{"role": "user", "content": ""}]));
}
