//! Calls and results, between the protocol's form and ours.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use journal::SessionUid;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, RequestMetaObject, ResourceContents,
};
use serde::Deserialize;
use serde_json::{Value, json};
use wire::file_part::Source;
use wire::protobuf::Struct;
use wire::{FilePart, Part, ToolCall, ToolResult, part};

use crate::call::CallError;

/// The members of `_meta` that tell a repeated call, and the call itself.
const SESSION: &str = "agentsessions/session";
const IDEMPOTENCY_KEY: &str = "agentsessions/idempotency-key";
const CALL: &str = "agentsessions/call";

const UNKNOWN_CONTENT: &str = "its content is of an unknown type";

/// Longest `error` of a result, in characters; all of it is in the content.
const ERROR_LIMIT: usize = 1000;

/// The parameters of `tools/call`.
pub(super) fn params(session: &SessionUid, call: &ToolCall) -> Result<CallToolRequestParams, CallError> {
    let mut params = CallToolRequestParams::new(call.tool.clone()).with_arguments(arguments(call)?);
    let meta = [(SESSION, session.as_str()), (IDEMPOTENCY_KEY, &call.idempotency_key), (CALL, &call.id)];
    let meta: JsonObject = meta.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
    params.meta = Some(RequestMetaObject::from(meta));
    Ok(params)
}

fn arguments(call: &ToolCall) -> Result<JsonObject, CallError> {
    let Some(args) = &call.args else { return Ok(JsonObject::new()) };
    match serde_json::to_value(args) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(CallError::Unsendable("its arguments have no JSON form")),
    }
}

/// A result of `tools/call`.
pub(super) fn result(result: CallToolResult) -> Result<ToolResult, CallError> {
    let content: Vec<Part> = result.content.into_iter().map(content_part).collect::<Result<_, _>>()?;
    let is_error = result.is_error.unwrap_or_default();
    let error = if is_error { content.iter().filter_map(Part::as_text).collect() } else { String::new() };
    let error = error.chars().take(ERROR_LIMIT).collect();
    Ok(ToolResult { output: output(result.structured_content)?, content, is_error, error, ..ToolResult::default() })
}

/// Structured content may be any value; an output is an object.
fn output(structured: Option<Value>) -> Result<Option<Struct>, CallError> {
    let object = match structured {
        None | Some(Value::Null) => return Ok(None),
        Some(object @ Value::Object(_)) => object,
        Some(other) => json!({ "value": other }),
    };
    let output = Struct::deserialize(object);
    output.map(Some).map_err(|_| CallError::NotAResult("its structured content cannot be recorded"))
}

fn content_part(block: ContentBlock) -> Result<Part, CallError> {
    let file = match block {
        ContentBlock::Text(text) => return Ok(Part::text(text.text)),
        ContentBlock::Image(image) => inline(image.mime_type, decode(&image.data)?, String::new()),
        ContentBlock::Audio(audio) => inline(audio.mime_type, decode(&audio.data)?, String::new()),
        ContentBlock::ResourceLink(link) => FilePart {
            mime: link.mime_type.unwrap_or_default(),
            name: link.name,
            source: Some(Source::Uri(link.uri)),
            ..FilePart::default()
        },
        ContentBlock::Resource(embedded) => resource(embedded.resource)?,
        _ => return Err(CallError::NotAResult(UNKNOWN_CONTENT)),
    };
    Ok(part::Part::File(file).into())
}

fn resource(contents: ResourceContents) -> Result<FilePart, CallError> {
    match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            Ok(inline(mime_type.unwrap_or_default(), text.into_bytes(), uri))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            Ok(inline(mime_type.unwrap_or_default(), decode(&blob)?, uri))
        }
        _ => Err(CallError::NotAResult(UNKNOWN_CONTENT)),
    }
}

fn inline(mime: String, bytes: Vec<u8>, name: String) -> FilePart {
    FilePart { mime, name, source: Some(Source::Bytes(bytes)), ..FilePart::default() }
}

fn decode(text: &str) -> Result<Vec<u8>, CallError> {
    STANDARD.decode(text).map_err(|_| CallError::NotAResult("its content is not base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: Value) -> Result<ToolResult, CallError> {
        super::result(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn session_key_and_call_are_in_the_meta() {
        let call = ToolCall { id: "c".into(), tool: "t".into(), idempotency_key: "k".into(), ..ToolCall::default() };
        let params = params(&SessionUid::parse("s").unwrap(), &call).unwrap();
        let expected = json!({"name": "t", "arguments": {}, "_meta": {
            "agentsessions/session": "s", "agentsessions/idempotency-key": "k", "agentsessions/call": "c"
        }});
        assert_eq!(serde_json::to_value(params).unwrap(), expected);
    }

    #[test]
    fn content_of_every_type_becomes_a_part() {
        let content = json!([
            {"type": "text", "text": "hi"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "hi"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": "aGk="}},
        ]);
        let result = read(json!({"content": content})).unwrap();
        let file = |mime: &str, name: &str, source| {
            let source = Some(source);
            part::Part::File(FilePart { mime: mime.into(), name: name.into(), source, ..FilePart::default() }).into()
        };
        let bytes = || Source::Bytes(b"hi"[..].into());
        assert_eq!(
            result.content,
            [
                Part::text("hi"),
                file("image/png", "", bytes()),
                file("audio/wav", "", bytes()),
                file("text/plain", "a", Source::Uri("file:///a".into())),
                file("", "file:///b", bytes()),
                file("", "file:///c", bytes()),
            ]
        );
        assert!(!result.is_error && result.output.is_none());
    }

    #[test]
    fn structured_content_is_the_output() {
        let output = |structured: Value| {
            let result = read(json!({"content": [], "structuredContent": structured})).unwrap();
            serde_json::to_value(result.output).unwrap()
        };
        assert_eq!(output(json!({"a": "b"})), json!({"a": "b"}));
        assert_eq!(output(json!(["b"])), json!({"value": ["b"]}));
        assert_eq!(output(Value::Null), Value::Null);
    }

    #[test]
    fn a_failed_tool_says_why() {
        let text = "x".repeat(ERROR_LIMIT + 1);
        let result = read(json!({"isError": true, "content": [{"type": "text", "text": text}]})).unwrap();
        assert!(result.is_error);
        assert_eq!((result.error.len(), result.content), (ERROR_LIMIT, vec![Part::text(text)]));
    }

    #[test]
    fn content_that_cannot_be_read_is_not_quoted() {
        let image = json!({"type": "image", "data": "*secret*", "mimeType": "image/png"});
        let error = read(json!({"content": [image]})).unwrap_err();
        assert_eq!(error, CallError::NotAResult("its content is not base64"));
    }
}
