//! What is said in invocations of plain harnesses, out of what the host records of them.

use journal::ExecutionId;
use stream_session::json::Json;
use stream_session::value::{StreamPolicy, Value};
use wire::event::Body;
use wire::part::Part;
use wire::protobuf::value::Kind;
use wire::{Event, EventKind, History, Message};

use super::PARAMETERS;
use crate::agents::read::{UnusableGraph, graph};
use crate::invocation;

/// Member of the record of an invocation that holds its parameters.
const METHOD_PARAMETERS: &str = "methodParameters";

/// The messages in the parameters of the method.
pub(super) fn messages(parameters: &str) -> Result<Vec<Message>, UnusableGraph> {
    let graph = graph(PARAMETERS)?;
    let value = Value::read(&graph, graph.root(), StreamPolicy::None, &Json::parse(parameters.as_bytes())?)?.value;
    // The rest of the patterns has no values: it was read against the graph.
    let Value::Record(fields) = value else { return Ok(Vec::new()) };
    let texts = fields.into_iter().flat_map(|field| if let Value::List(texts) = field { texts } else { Vec::new() });
    let message = |text| if let Value::String(text) = text { Some(Message::text("user", text)) } else { None };
    Ok(texts.filter_map(message).collect())
}

/// The history without the host's own records of invocations, but with the messages that they hold.
pub(super) fn told(history: History) -> History {
    if !history.iter().any(is_account) {
        return history;
    }
    history
        .iter()
        .flat_map(|event| if is_account(event) { said(event) } else { vec![event.clone()] })
        .collect::<Vec<_>>()
        .into()
}

/// Whether the host says this of an invocation: what harnesses and users say has text.
fn is_account(event: &Event) -> bool {
    let Some(Body::Message(message)) = &event.body else { return false };
    let is_data = |part: &wire::Part| matches!(part.part, Some(Part::Data(_) | Part::File(_)));
    !message.parts.is_empty()
        && message.parts.iter().all(is_data)
        && invocation::of_execution(&ExecutionId::new(&event.execution_id)).is_some()
}

/// What the client said, if this is the record of it.
fn said(event: &Event) -> Vec<Event> {
    let parameters = parameters(event).filter(|_| event.kind() == EventKind::EventInput);
    let messages = parameters.and_then(|parameters| messages(parameters).ok()).unwrap_or_default();
    messages.into_iter().map(|message| Event { body: Some(Body::Message(message)), ..event.clone() }).collect()
}

fn parameters(event: &Event) -> Option<&str> {
    let Some(Body::Message(message)) = &event.body else { return None };
    let Some(Part::Data(data)) = &message.parts.first()?.part else { return None };
    match &data.data.as_ref()?.fields.get(METHOD_PARAMETERS)?.kind {
        Some(Kind::StringValue(parameters)) => Some(parameters),
        _ => None,
    }
}
