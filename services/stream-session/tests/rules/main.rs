//! Every rule of the protocol that bytes alone can break, by its name: what must be refused, and with which code. The
//! contract's vector files are not needed here.

#![allow(clippy::needless_pass_by_value, reason = "a broken message is made where it is refused")]

mod binary;
mod codes;
mod index;
mod limits;
mod mappings;
mod messages;
mod text;

use serde_json::{Value, json};
use stream_session::ErrorCode;
use stream_session::message::{ClientMessage, ServerMessage};

const ATTEMPT: &str = "ca7e5a82-2064-4c18-8359-806145c1562f";
const REFERENCE: &str = "0dff1c71-f12f-4bb1-996c-23d693bdc825";

/// A start without parameters.
fn start() -> Value {
    let record = json!({"kind": "record", "value": {"fields": []}});
    json!({
        "attemptId": ATTEMPT, "config": [], "idempotencyKey": "k", "methodParameters": record, "type": "invocationStart",
        "version": 1, "selector": {"agentType": "a", "application": "b", "constructorParameters": record,
            "environment": "c", "method": "d"},
    })
}

fn attach() -> Value {
    json!({
        "attemptId": ATTEMPT, "operation": "resume", "outputCursors": ["c1", "c2"], "sessionToken": "t",
        "type": "resumeAttach", "version": 1,
    })
}

fn item() -> Value {
    json!({
        "channel": 1, "sequence": "0", "type": "inputStreamItem", "value": {"kind": "bool", "value": true}, "version": 1,
    })
}

fn end() -> Value {
    json!({"channel": 1, "sequence": "0", "type": "inputStreamEnd", "version": 1})
}

fn cancel() -> Value {
    json!({"channel": 1, "reason": "cancelled", "type": "streamCancel", "version": 1})
}

/// `message` with what `path` points at set to `value`.
fn with(mut message: Value, path: &str, value: Value) -> Value {
    let (parent, name) = path.rsplit_once('/').expect("a pointer");
    let parent = message.pointer_mut(parent).expect("the place is there");
    match parent {
        Value::Array(elements) => elements[name.parse::<usize>().expect("an index")] = value,
        parent => parent[name] = value,
    }
    message
}

/// `message` without the member that `path` points at.
fn without(mut message: Value, path: &str) -> Value {
    let (parent, name) = path.rsplit_once('/').expect("a pointer");
    let parent = message.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    assert!(parent.remove(name).is_some(), "there is no {path}");
    message
}

/// With which code a server refuses this text of a client.
fn refused(message: impl ToString) -> Option<ErrorCode> {
    let text = message.to_string();
    ClientMessage::decode(text.as_bytes()).err().map(|undecodable| undecodable.refusal.code)
}

/// With which code a client refuses this text of a server.
fn refused_by_client(message: impl ToString) -> Option<ErrorCode> {
    let text = message.to_string();
    ServerMessage::decode(text.as_bytes()).err().map(|undecodable| undecodable.refusal.code)
}

#[test]
fn what_the_faults_are_made_from_is_sound() {
    for message in [start(), attach(), item(), end(), cancel()] {
        assert_eq!(refused(&message), None, "{message}");
    }
}
