//! Reading what servers say.

use super::decode::{channel, check_channel, check_key, check_token, code, decimal, decode, error, node, uuid, word};
use super::{
    InvocationOutcome, MethodResult, Node, OutputOutcome, Rejection, ServerMessage, ServerReason, Undecodable, mapping,
};
use crate::Refusal;
use crate::json::members::{boolean, object, optional, required, string, text, wrong};
use crate::json::{Json, Members};

impl<'t> ServerMessage<'t> {
    /// Reads a text message of a server (protocol.md 4.1, steps 2 to 13).
    ///
    /// # Errors
    /// The first fault.
    pub fn decode(text: &'t [u8]) -> Result<Self, Undecodable> {
        decode(text, read)
    }
}

fn read<'t>(members: &mut Members<'t>) -> Result<ServerMessage<'t>, Refusal> {
    let kind = members.take("type");
    let expect = |members: &Members<'_>, names: &[&str], optional: &[&str]| {
        let names: Vec<&str> = ["version"].into_iter().chain(names.iter().copied()).collect();
        members.expect(&names, optional)
    };
    match kind.as_ref().ok_or_else(wrong).and_then(text)? {
        "invocationAccepted" => {
            expect(members, &["attemptId", "idempotencyKey", "mappings", "sessionToken"], &[])?;
            accepted(members)
        }
        "invocationRejected" => {
            expect(members, &["code", "message", "retryable"], &["attemptId"])?;
            Ok(ServerMessage::Rejected(Rejection {
                attempt: optional(members, "attemptId", uuid)?,
                code: required(members, "code", code)?,
                message: required(members, "message", string)?,
                retryable: required(members, "retryable", boolean)?,
            }))
        }
        "invocationResult" => {
            expect(members, &["mappings", "result"], &[])?;
            let (mappings, result) = (mapping::read(members)?, method_result(members.take("result"))?);
            Ok(ServerMessage::Result { mappings: mappings.check()?, result })
        }
        "outputStreamItem" => {
            expect(members, &["channel", "cursorToken", "mappings", "sequence", "value"], &[])?;
            output_item(members)
        }
        "outputStreamEnd" => {
            expect(members, &["channel", "outcome", "sequence"], &["cursorToken"])?;
            output_end(members)
        }
        "inputStreamAck" => {
            expect(members, &["channel", "highestContiguousSequence", "mappings", "terminal"], &[])?;
            input_ack(members)
        }
        "streamCancel" => {
            expect(members, &["channel", "reason"], &[])?;
            let (channel, reason) = (channel(members)?, required(members, "reason", word(ServerReason::parse))?);
            check_channel(channel)?;
            Ok(ServerMessage::Cancel { channel, reason })
        }
        "attachmentRevoked" => {
            expect(members, &["reason"], &[])?;
            let replaced = |reason: &str| (reason == "replaced").then_some(ServerMessage::Revoked);
            required(members, "reason", word(replaced))
        }
        "invocationFinished" => {
            expect(members, &["outcome"], &[])?;
            required(members, "outcome", invocation_outcome).map(ServerMessage::Finished)
        }
        _ => Err(Refusal::malformed("a message is of an unknown type")),
    }
}

fn accepted<'t>(members: &Members<'t>) -> Result<ServerMessage<'t>, Refusal> {
    let attempt = required(members, "attemptId", uuid)?;
    let mappings = mapping::read(members)?;
    let idempotency_key = required(members, "idempotencyKey", string)?;
    let session_token = required(members, "sessionToken", string)?;
    check_key(&idempotency_key)?;
    check_token(&session_token)?;
    Ok(ServerMessage::Accepted { attempt, idempotency_key, mappings: mappings.check()?, session_token })
}

fn output_item<'t>(members: &mut Members<'t>) -> Result<ServerMessage<'t>, Refusal> {
    let (channel, mappings) = (channel(members)?, mapping::read(members)?);
    let sequence = required(members, "sequence", decimal)?;
    let cursor = required(members, "cursorToken", string)?;
    check_token(&cursor)?;
    let mappings = mappings.check()?;
    check_channel(channel)?;
    Ok(ServerMessage::Item { channel, sequence, cursor, mappings, value: node(members, "value")? })
}

fn output_end<'t>(members: &Members<'t>) -> Result<ServerMessage<'t>, Refusal> {
    let (channel, sequence) = (channel(members)?, required(members, "sequence", decimal)?);
    let outcome = required(members, "outcome", output_outcome)?;
    let cursor = optional(members, "cursorToken", string)?;
    cursor.as_deref().map_or(Ok(()), check_token)?;
    check_channel(channel)?;
    Ok(ServerMessage::End { channel, sequence, cursor, outcome })
}

fn input_ack<'t>(members: &Members<'t>) -> Result<ServerMessage<'t>, Refusal> {
    let (channel, mappings) = (channel(members)?, mapping::read(members)?);
    let sequence = required(members, "highestContiguousSequence", decimal)?;
    let terminal = required(members, "terminal", boolean)?;
    let mappings = mappings.check()?;
    check_channel(channel)?;
    Ok(ServerMessage::Ack { channel, sequence, mappings, terminal })
}

fn method_result<'t>(json: Option<Json<'t>>) -> Result<MethodResult<'t>, Refusal> {
    let Some(Json::Object(mut members)) = json else { return Err(wrong()) };
    match required(&members, "kind", text)? {
        "none" => members.expect(&["kind"], &[]).map(|()| MethodResult::None),
        "value" => {
            members.expect(&["graph", "kind", "value"], &[])?;
            let graph = Node::Json(members.take("graph").ok_or_else(wrong)?);
            Ok(MethodResult::Value { graph, value: node(&mut members, "value")? })
        }
        _ => Err(wrong()),
    }
}

fn output_outcome(json: &Json<'_>) -> Result<OutputOutcome, Refusal> {
    let members = object(json)?;
    match required(members, "kind", text)? {
        "ok" => members.expect(&["kind"], &[]).map(|()| OutputOutcome::Ok),
        "error" => error(members).map(|(code, message)| OutputOutcome::Error { code, message }),
        "cancelled" => {
            members.expect(&["kind", "reason"], &[])?;
            required(members, "reason", word(ServerReason::parse)).map(OutputOutcome::Cancelled)
        }
        _ => Err(wrong()),
    }
}

fn invocation_outcome(json: &Json<'_>) -> Result<InvocationOutcome, Refusal> {
    let members = object(json)?;
    match required(members, "kind", text)? {
        "success" => members.expect(&["kind"], &[]).map(|()| InvocationOutcome::Success),
        "failure" => error(members).map(|(code, message)| InvocationOutcome::Failure { code, message }),
        _ => Err(wrong()),
    }
}
