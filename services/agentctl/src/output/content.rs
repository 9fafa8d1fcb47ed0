//! What a record says, behind its kind: enough of it for a person who has to decide. JSON has all of it.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use wire::event::Body;
use wire::file_part::Source;
use wire::protobuf::{Value, value};
use wire::{FilePart, Lifecycle, Mediation, Message, Part, ToolCall, ToolResult, part};

use super::plain::{Indented, Inline};

/// The content of an event.
pub struct Content<'a>(pub &'a Body);

impl Display for Content<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Body::Message(message) => write_message(f, message),
            Body::Tool(call) => write_call(f, call),
            Body::Result(result) => write_result(f, result),
            Body::ApprovalResult(decision) => {
                let verdict = if decision.approved { "approved" } else { "denied" };
                write!(f, "  {}: {verdict} {}", Inline(&decision.tool_call_id), Inline(&decision.reason))
            }
            Body::Approval(request) => write!(f, "  {}", Inline(&request.tool_call_id)),
            Body::Error(error) => write!(f, "  {}", Indented(&error.description)),
            Body::Lifecycle(lifecycle) => write_lifecycle(f, lifecycle),
            _ => Ok(()),
        }
    }
}

fn write_message(f: &mut Formatter<'_>, message: &Message) -> fmt::Result {
    write!(f, "  {}: ", Inline(&message.role))?;
    write_parts(f, &message.parts)
}

fn write_call(f: &mut Formatter<'_>, call: &ToolCall) -> fmt::Result {
    let arguments = call.args.as_ref().map_or_else(|| "{}".into(), json);
    write!(f, "  {}: {} {}", Inline(&call.id), Inline(&call.tool), Inline(&arguments))?;
    if call.mediation() == Mediation::RequiresApproval { f.write_str(" (needs approval)") } else { Ok(()) }
}

fn write_result(f: &mut Formatter<'_>, result: &ToolResult) -> fmt::Result {
    write!(f, "  {}: ", Inline(&result.id))?;
    if result.is_error {
        return write!(f, "failed: {}", Indented(&result.error));
    }
    write_parts(f, &result.content)?;
    result.output.as_ref().map_or(Ok(()), |output| write!(f, "{}", Inline(&json(output))))
}

fn write_lifecycle(f: &mut Formatter<'_>, lifecycle: &Lifecycle) -> fmt::Result {
    let kind = lifecycle.kind().as_str_name();
    let kind = kind.strip_prefix("LIFECYCLE_").unwrap_or(kind);
    write!(f, "  {kind}")?;
    if lifecycle.detail.is_empty() { Ok(()) } else { write!(f, " {}", Inline(&lifecycle.detail)) }
}

/// Texts follow one another as they are; what else there is stands apart. What an invocation was given and came to is data.
fn write_parts(f: &mut Formatter<'_>, parts: &[Part]) -> fmt::Result {
    let mut gap = "";
    for part in parts.iter().filter_map(|part| part.part.as_ref()) {
        match part {
            part::Part::Text(text) => write!(f, "{}", Indented(&text.text))?,
            part::Part::Data(data) => {
                for (name, value) in data.data.iter().flat_map(|data| &data.fields) {
                    write!(f, "{gap}{}={}", Inline(name), Inline(&plain(value)))?;
                    gap = " ";
                }
            }
            part::Part::File(FilePart { name, source, .. }) => {
                write!(f, "{gap}{}", Inline(name))?;
                match source {
                    Some(Source::Uri(uri)) => write!(f, "={}", Inline(uri))?,
                    Some(Source::Bytes(bytes)) => write!(f, "={} bytes", bytes.len())?,
                    None => {}
                }
            }
            // Calls and their results have records of their own.
            part::Part::ToolCall(_) | part::Part::ToolResult(_) | part::Part::Reasoning(_) => continue,
        }
        gap = " ";
    }
    Ok(())
}

/// A text as it is, everything else as JSON.
fn plain(value: &Value) -> Cow<'_, str> {
    match &value.kind {
        Some(value::Kind::StringValue(text)) => text.into(),
        _ => json(value).into(),
    }
}

/// Recorded structs have a JSON form.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
