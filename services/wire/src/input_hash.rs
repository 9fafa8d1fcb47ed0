//! The hash that pairs a model request with its recorded MODEL_CALL.
//!
//! It is the SHA-256 of the request as Go's `encoding/json` prints the reference host's own types: members in order of
//! declaration, some left out when empty, HTML characters escaped. Journals of that host stay resumable only while the
//! text is the same to the byte, so none of this is canonical JSON, and none of it may be tidied up.

mod go_json;

use sha2::{Digest, Sha256};
use thiserror::Error;

use self::go_json::Text;
use crate::{
    FilePart, Mediation, Message, ModelCall, Part, ReasoningPart, ToolCall, ToolChoice, ToolDefinition, ToolResult,
    file_part, part, reasoning_part, tool_choice,
};

/// Why a model request has no input hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidModelCall {
    /// A mode that has no name.
    #[error("tool_choice.mode {0} is unknown")]
    ToolChoiceMode(i32),
    /// A number that JSON has no text for.
    #[error("a number is infinite or not a number")]
    NotFinite,
}

type Result<T = ()> = std::result::Result<T, InvalidModelCall>;

/// The input hash of `call`: 64 lowercase hex digits. Its `id` and `input_hash` have no part in it.
///
/// # Errors
/// [`InvalidModelCall`].
pub fn input_hash(call: &ModelCall) -> Result<String> {
    Ok(hex::encode(Sha256::digest(hashed_text(call)?)))
}

/// The text that is hashed.
fn hashed_text(call: &ModelCall) -> Result<Vec<u8>> {
    let mut text = Text::default();
    request(call, &mut text)?;
    Ok(text.into_bytes())
}

fn request(call: &ModelCall, text: &mut Text) -> Result {
    text.raw("{\"Model\":").string(&call.model);
    text.raw(",\"Messages\":").list_or_null(&call.messages, message)?;
    text.raw(",\"Params\":");
    if call.params.is_empty() {
        text.raw("null");
    } else {
        text.map(&call.params, |value, text| text.string(value).ok())?;
    }
    if !call.tools.is_empty() {
        text.raw(",\"Tools\":").list(&call.tools, tool_definition)?;
    }
    if let Some(choice) = &call.tool_choice {
        tool_choice(choice, text.raw(",\"ToolChoice\":"))?;
    }
    text.raw("}").ok()
}

fn message(message: &Message, text: &mut Text) -> Result {
    text.raw("{\"Role\":").string(&message.role);
    text.raw(",\"Parts\":").list(&message.parts, part)?;
    text.raw("}").ok()
}

fn part(value: &Part, text: &mut Text) -> Result {
    let part = value.part.as_ref();
    text.raw("{\"Text\":");
    match part {
        Some(part::Part::Text(part)) => text.raw("{\"Text\":").string(&part.text).raw("}"),
        _ => text.raw("null"),
    };
    text.raw(",\"File\":");
    match part {
        Some(part::Part::File(part)) => file(part, text)?,
        _ => text.raw("null").ok()?,
    }
    text.raw(",\"Data\":");
    match part {
        Some(part::Part::Data(part)) => text.structure(part.data.as_ref())?,
        _ => text.raw("null").ok()?,
    }
    text.raw(",\"Reasoning\":");
    match part {
        Some(part::Part::Reasoning(part)) => reasoning(part, text)?,
        _ => text.raw("null").ok()?,
    }
    match part {
        Some(part::Part::ToolCall(call)) => tool_call(call, text.raw(",\"ToolCall\":"))?,
        Some(part::Part::ToolResult(result)) => tool_result(result, text.raw(",\"ToolResult\":"))?,
        _ => {}
    }
    text.raw("}").ok()
}

fn file(file: &FilePart, text: &mut Text) -> Result {
    let (bytes, uri) = match &file.source {
        Some(file_part::Source::Bytes(bytes)) => (bytes.as_slice(), ""),
        Some(file_part::Source::Uri(uri)) => (&[][..], uri.as_str()),
        None => (&[][..], ""),
    };
    text.raw("{\"MIME\":").string(&file.mime);
    text.raw(",\"Bytes\":").bytes(bytes);
    text.raw(",\"URI\":").string(uri);
    text.raw(",\"Digest\":").string(&file.digest);
    text.raw(",\"Name\":").string(&file.name).raw("}").ok()
}

fn reasoning(reasoning: &ReasoningPart, text: &mut Text) -> Result {
    let (bytes, uri) = match &reasoning.opaque {
        Some(reasoning_part::Opaque::OpaqueBytes(bytes)) => (bytes.as_slice(), ""),
        Some(reasoning_part::Opaque::OpaqueUri(uri)) => (&[][..], uri.as_str()),
        None => (&[][..], ""),
    };
    text.raw("{\"Provider\":").string(&reasoning.provider);
    text.raw(",\"ModelID\":").string(&reasoning.model_id);
    text.raw(",\"Opaque\":").bytes(bytes);
    text.raw(",\"OpaqueURI\":").string(uri);
    text.raw(",\"OpaqueDigest\":").string(&reasoning.opaque_digest);
    text.raw(",\"Summary\":").list_or_null(&reasoning.summary, part)?;
    text.raw(",\"ItemID\":").string(&reasoning.item_id);
    text.raw(",\"Ordinal\":").integer(reasoning.ordinal);
    text.raw(",\"ValidityScope\":").string(&reasoning.validity_scope).raw("}").ok()
}

fn tool_call(call: &ToolCall, text: &mut Text) -> Result {
    text.raw("{\"ID\":").string(&call.id);
    text.raw(",\"Tool\":").string(&call.tool);
    text.raw(",\"Args\":").structure(call.args.as_ref())?;
    text.raw(",\"Mediation\":").string(mediation(call.mediation));
    text.raw(",\"IdempotencyKey\":").string(&call.idempotency_key).raw("}").ok()
}

/// A number without a name counts as none: nothing acts on the mediation of a call inside a message.
fn mediation(number: i32) -> &'static str {
    match Mediation::try_from(number).unwrap_or_default() {
        Mediation::Unspecified => "",
        Mediation::InHarnessReported => "IN_HARNESS_REPORTED",
        Mediation::ControllerMediated => "CONTROLLER_MEDIATED",
        Mediation::RequiresApproval => "REQUIRES_APPROVAL",
    }
}

fn tool_result(result: &ToolResult, text: &mut Text) -> Result {
    text.raw("{\"ID\":").string(&result.id);
    text.raw(",\"Output\":").structure(result.output.as_ref())?;
    text.raw(",\"OutputURI\":").string(&result.output_uri);
    text.raw(",\"OutputDigest\":").string(&result.output_digest);
    text.raw(",\"IsError\":").raw(if result.is_error { "true" } else { "false" });
    text.raw(",\"Error\":").string(&result.error);
    if !result.content.is_empty() {
        text.raw(",\"Content\":").list(&result.content, part)?;
    }
    if result.code != 0 {
        text.raw(",\"Code\":").integer(result.code);
    }
    if result.approval_request_seq != 0 {
        text.raw(",\"ApprovalRequestSeq\":").integer(result.approval_request_seq);
    }
    if result.approval_decision_seq != 0 {
        text.raw(",\"ApprovalDecisionSeq\":").integer(result.approval_decision_seq);
    }
    text.raw("}").ok()
}

fn tool_definition(tool: &ToolDefinition, text: &mut Text) -> Result {
    text.raw("{\"Name\":").string(&tool.name);
    text.raw(",\"Description\":").string(&tool.description);
    text.raw(",\"InputSchema\":").structure(tool.input_schema.as_ref())?;
    text.raw("}").ok()
}

fn tool_choice(choice: &ToolChoice, text: &mut Text) -> Result {
    let mode = match tool_choice::Mode::try_from(choice.mode) {
        Ok(tool_choice::Mode::Unspecified) => "",
        Ok(tool_choice::Mode::Auto) => "AUTO",
        Ok(tool_choice::Mode::None) => "NONE",
        Ok(tool_choice::Mode::Required) => "REQUIRED",
        Err(_) => return Err(InvalidModelCall::ToolChoiceMode(choice.mode)),
    };
    text.raw("{\"Mode\":").string(mode);
    text.raw(",\"Name\":").string(&choice.name).raw("}").ok()
}

#[cfg(test)]
mod tests;
