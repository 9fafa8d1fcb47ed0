//! Reading what clients say.

use super::decode::{channel, check_channel, check_cursors, check_key, check_token, decimal, decode, node, uuid, word};
use super::{Attach, ClientMessage, ClientReason, ConfigEntry, Operation, Selector, Start, Undecodable};
use crate::json::members::{many, object, optional, required, string, strings, text, wrong};
use crate::json::{Json, Members};
use crate::{ErrorCode, Refusal};

impl<'t> ClientMessage<'t> {
    /// Reads a text message of a client (protocol.md 4.1, steps 2 to 13).
    ///
    /// # Errors
    /// The first fault, and the attempt of the message as far as it can be told.
    pub fn decode(text: &'t [u8]) -> Result<Self, Undecodable> {
        decode(text, read)
    }
}

fn read<'t>(members: &mut Members<'t>) -> Result<ClientMessage<'t>, Refusal> {
    let kind = members.take("type");
    let expect = |members: &Members<'_>, names: &[&str]| {
        let names: Vec<&str> = ["version"].into_iter().chain(names.iter().copied()).collect();
        members.expect(&names, &[])
    };
    match kind.as_ref().ok_or_else(wrong).and_then(text)? {
        "invocationStart" => {
            expect(members, &["attemptId", "config", "idempotencyKey", "methodParameters", "selector"])?;
            start(members).map(ClientMessage::Start)
        }
        "resumeAttach" => {
            expect(members, &["attemptId", "operation", "outputCursors", "sessionToken"])?;
            attach(members).map(ClientMessage::Attach)
        }
        "inputStreamItem" => {
            expect(members, &["channel", "sequence", "value"])?;
            let (channel, sequence) = (channel(members)?, required(members, "sequence", decimal)?);
            check_channel(channel)?;
            Ok(ClientMessage::Item { channel, sequence, value: node(members, "value")? })
        }
        "inputStreamEnd" => {
            expect(members, &["channel", "sequence"])?;
            let (channel, sequence) = (channel(members)?, required(members, "sequence", decimal)?);
            check_channel(channel)?;
            Ok(ClientMessage::End { channel, sequence })
        }
        "streamCancel" => {
            expect(members, &["channel", "reason"])?;
            let (channel, reason) = (channel(members)?, required(members, "reason", word(ClientReason::parse))?);
            check_channel(channel)?;
            Ok(ClientMessage::Cancel { channel, reason })
        }
        _ => Err(Refusal::malformed("a message is of an unknown type")),
    }
}

fn start<'t>(members: &mut Members<'t>) -> Result<Start<'t>, Refusal> {
    let start = Start {
        attempt: required(members, "attemptId", uuid)?,
        selector: selector(members.take("selector"))?,
        config: many(members, "config", config_entry)?,
        idempotency_key: required(members, "idempotencyKey", string)?,
        method_parameters: node(members, "methodParameters")?,
    };
    check_key(&start.idempotency_key)?;
    start.selector.check()?;
    start.config.iter().try_for_each(ConfigEntry::check)?;
    if start.config.iter().any(|entry| holds_stream(&entry.value)) {
        return Err(Refusal::new(ErrorCode::UnsupportedValue, "no stream may be in the configuration"));
    }
    Ok(start)
}

/// Reads a selector, and checks its names.
pub(crate) fn check_selector(json: Json<'_>) -> Result<Selector<'_>, Refusal> {
    let selector = selector(Some(json))?;
    selector.check().map(|()| selector)
}

fn selector<'t>(json: Option<Json<'t>>) -> Result<Selector<'t>, Refusal> {
    let Some(Json::Object(mut members)) = json else { return Err(wrong()) };
    let members = &mut members;
    let names = ["agentType", "application", "constructorParameters", "environment", "method"];
    members.expect(&names, &["phantomId"])?;
    Ok(Selector {
        application: required(members, "application", string)?,
        environment: required(members, "environment", string)?,
        agent_type: required(members, "agentType", string)?,
        method: required(members, "method", string)?,
        constructor_parameters: node(members, "constructorParameters")?,
        phantom: optional(members, "phantomId", uuid)?,
    })
}

impl Selector<'_> {
    fn check(&self) -> Result<(), Refusal> {
        let names = [&self.application, &self.environment, &self.agent_type, &self.method];
        match names.iter().any(|name| name.is_empty()) {
            true => Err(Refusal::invalid("a name in the selector is empty")),
            false => Ok(()),
        }
    }
}

fn config_entry<'t>(json: &Json<'t>) -> Result<ConfigEntry<'t>, Refusal> {
    let members = object(json)?;
    members.expect(&["path", "value"], &[])?;
    let value = required(members, "value", |value| Ok(value.clone()))?;
    Ok(ConfigEntry { path: required(members, "path", strings)?, value })
}

impl ConfigEntry<'_> {
    fn check(&self) -> Result<(), Refusal> {
        match self.path.is_empty() || self.path.iter().any(String::is_empty) {
            true => Err(Refusal::invalid("a path in the configuration is empty")),
            false => Ok(()),
        }
    }
}

/// Whether something in it looks like a reference to a stream. Its depth is bounded as the message's is.
fn holds_stream(json: &Json<'_>) -> bool {
    match json {
        Json::Array(elements) => elements.iter().any(holds_stream),
        Json::Object(members) => is_stream(members) || members.iter().any(|(_, value)| holds_stream(value)),
        _ => false,
    }
}

fn is_stream(members: &Members<'_>) -> bool {
    let named = |value: &Members<'_>| value.get("provisionalRef").is_some() || value.get("streamToken").is_some();
    members.get("kind").and_then(Json::as_str) == Some("stream")
        && members.get("value").and_then(Json::as_object).is_some_and(named)
}

fn attach(members: &Members<'_>) -> Result<Attach, Refusal> {
    let attach = Attach {
        attempt: required(members, "attemptId", uuid)?,
        operation: required(members, "operation", word(Operation::parse))?,
        session_token: required(members, "sessionToken", string)?,
        output_cursors: required(members, "outputCursors", strings)?,
    };
    check_token(&attach.session_token)?;
    check_cursors(&attach.output_cursors)?;
    Ok(attach)
}
