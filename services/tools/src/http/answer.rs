//! What an endpoint answers.

use serde::Deserialize;
use wire::protobuf::Struct;
use wire::{Part, ToolResult};

use crate::call::CallError;

/// Every member may be left out. An unknown one is an error: a server that answers in a form of its own must not be
/// taken to have answered nothing.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Answer {
    output: Option<Struct>,
    content: String,
    is_error: bool,
    error: String,
    output_uri: String,
    output_digest: String,
}

/// Reads the body of an answer; an empty one is an empty result.
pub(super) fn read(body: &[u8]) -> Result<ToolResult, CallError> {
    if body.is_empty() {
        return Ok(ToolResult::default());
    }
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|_| CallError::NotAResult("expected a JSON object of output, content, is_error and error"))?;
    let content = if answer.content.is_empty() { Vec::new() } else { vec![Part::text(answer.content)] };
    Ok(ToolResult {
        output: answer.output,
        content,
        is_error: answer.is_error,
        error: answer.error,
        output_uri: answer.output_uri,
        output_digest: answer.output_digest,
        ..ToolResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_member_by_member() {
        let body =
            br#"{"output":{"n":1},"content":"one","is_error":true,"error":"e","output_uri":"u","output_digest":"d"}"#;
        let result = read(body).unwrap();
        assert_eq!(serde_json::to_string(&result.output).unwrap(), r#"{"n":1}"#);
        assert_eq!(result.content, [Part::text("one")]);
        let ToolResult { is_error, error, output_uri, output_digest, .. } = result;
        assert_eq!((is_error, &*error, &*output_uri, &*output_digest), (true, "e", "u", "d"));
    }

    #[test]
    fn nothing_is_an_empty_result() {
        assert_eq!(read(b""), Ok(ToolResult::default()));
        assert_eq!(read(b"{}"), Ok(ToolResult::default()));
    }

    #[test]
    fn an_answer_of_another_form_is_not_quoted() {
        for body in [&br#"{"secret":1}"#[..], b"[1]", b"secret", br#"{"output":"secret"}"#, b"\xff"] {
            let error = read(body).unwrap_err().to_string();
            assert!(error.starts_with("its answer is not a result") && !error.contains("secret"), "{error}");
        }
    }
}
