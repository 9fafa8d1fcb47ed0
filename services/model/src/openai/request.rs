//! A model call as a chat completions request.
//!
//! `params` have no place in it. Reasoning is dropped: no two providers take it back in the same form.

use serde::{Serialize, Serializer};
use thiserror::Error;
use wire::part::Part;
use wire::tool_choice::Mode;
use wire::{Message, ModelCall, ToolCall, ToolChoice, ToolDefinition, ToolResult, protobuf};

/// Why a call cannot be sent to this kind of provider.
#[derive(Debug, Error)]
pub(super) enum Unsendable {
    #[error("a {0} part cannot be sent to this provider")]
    Part(&'static str),
    #[error("a message of role tool must hold tool results")]
    NoToolResult,
    #[error("a message with tool results must hold nothing else")]
    MixedToolResult,
    #[error("a tool result that is only a reference cannot be sent to this provider")]
    Reference,
    #[error("tool_choice.mode {0} is unknown")]
    ToolChoice(i32),
    #[error("the request has no JSON form: {0}")]
    Json(#[from] serde_json::Error),
}

/// The body of the request for `call`, with `model` in place of the one that it names.
pub(super) fn body(call: &ModelCall, model: &str) -> Result<Vec<u8>, Unsendable> {
    let mut messages = Vec::with_capacity(call.messages.len());
    for message in &call.messages {
        add_message(message, &mut messages)?;
    }
    let request = Request {
        model,
        messages,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: call.tools.iter().map(Tool::from).collect(),
        tool_choice: call.tool_choice.as_ref().map(choice).transpose()?.flatten(),
    };
    Ok(serde_json::to_vec(&request)?)
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'a str,
    /// `null` only beside tool calls.
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    #[serde(serialize_with = "as_json_text")]
    arguments: &'a Option<protobuf::Struct>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a protobuf::Struct>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Mode(&'static str),
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        function: ChosenFunction<'a>,
    },
}

#[derive(Serialize)]
struct ChosenFunction<'a> {
    name: &'a str,
}

const FUNCTION: &str = "function";

fn add_message<'a>(message: &'a Message, to: &mut Vec<ChatMessage<'a>>) -> Result<(), Unsendable> {
    let mut calls = Vec::new();
    let mut results = Vec::new();
    let mut has_text = false;
    for part in message.parts.iter().filter_map(|part| part.part.as_ref()) {
        match part {
            Part::Text(_) => has_text = true,
            Part::Reasoning(_) => {}
            Part::ToolCall(call) => calls.push(Call::from(call)),
            Part::ToolResult(result) => results.push(result),
            Part::File(_) => return Err(Unsendable::Part("file")),
            Part::Data(_) => return Err(Unsendable::Part("data")),
        }
    }
    match (message.role.as_str(), results.is_empty()) {
        ("tool", true) => Err(Unsendable::NoToolResult),
        (_, false) if has_text || !calls.is_empty() => Err(Unsendable::MixedToolResult),
        (_, false) => results.into_iter().try_for_each(|result| {
            to.push(tool_message(result)?);
            Ok(())
        }),
        (role, true) => {
            let role = if role.is_empty() { "user" } else { role };
            let content = (has_text || calls.is_empty()).then(|| message.text_content());
            to.push(ChatMessage { role, content, tool_calls: calls, tool_call_id: None });
            Ok(())
        }
    }
}

fn tool_message(result: &ToolResult) -> Result<ChatMessage<'_>, Unsendable> {
    let content = Some(result_text(result)?);
    Ok(ChatMessage { role: "tool", content, tool_calls: Vec::new(), tool_call_id: Some(&result.id) })
}

/// What the model is shown: the content where there is one, or else the error, or else the output.
fn result_text(result: &ToolResult) -> Result<String, Unsendable> {
    if !result.content.is_empty() {
        return result.content.iter().filter_map(|part| part.part.as_ref()).map(shown_text).collect();
    }
    if result.is_error {
        return Ok(result.error.clone());
    }
    match &result.output {
        Some(output) => Ok(serde_json::to_string(output)?),
        None if result.output_uri.is_empty() => Ok(String::new()),
        None => Err(Unsendable::Reference),
    }
}

fn shown_text(part: &Part) -> Result<&str, Unsendable> {
    match part {
        Part::Text(text) => Ok(&text.text),
        Part::Reasoning(_) => Ok(""),
        Part::File(_) => Err(Unsendable::Part("file")),
        Part::Data(_) => Err(Unsendable::Part("data")),
        Part::ToolCall(_) | Part::ToolResult(_) => Err(Unsendable::Part("nested tool")),
    }
}

/// `None` leaves the choice to the provider.
fn choice(choice: &ToolChoice) -> Result<Option<Choice<'_>>, Unsendable> {
    let mode = Mode::try_from(choice.mode).map_err(|_| Unsendable::ToolChoice(choice.mode))?;
    Ok(match mode {
        Mode::Unspecified => None,
        Mode::Auto => Some(Choice::Mode("auto")),
        Mode::None => Some(Choice::Mode("none")),
        Mode::Required if choice.name.is_empty() => Some(Choice::Mode("required")),
        Mode::Required => Some(Choice::Function { kind: FUNCTION, function: ChosenFunction { name: &choice.name } }),
    })
}

/// Functions take their arguments as a string of JSON.
fn as_json_text<S: Serializer>(args: &Option<protobuf::Struct>, serializer: S) -> Result<S::Ok, S::Error> {
    match args {
        None => serializer.serialize_str("{}"),
        Some(args) => serializer.serialize_str(&serde_json::to_string(args).map_err(serde::ser::Error::custom)?),
    }
}

impl<'a> From<&'a ToolCall> for Call<'a> {
    fn from(call: &'a ToolCall) -> Self {
        let function = CalledFunction { name: &call.tool, arguments: &call.args };
        Self { id: &call.id, kind: FUNCTION, function }
    }
}

impl<'a> From<&'a ToolDefinition> for Tool<'a> {
    fn from(tool: &'a ToolDefinition) -> Self {
        let function =
            Function { name: &tool.name, description: &tool.description, parameters: tool.input_schema.as_ref() };
        Self { kind: FUNCTION, function }
    }
}

#[cfg(test)]
mod tests;
