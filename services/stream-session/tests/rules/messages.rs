//! Protocol.md section 6: what a client refuses of the other members that a server sends.

use serde_json::{Value, json};
use stream_session::ErrorCode::{MalformedMessage, TokenInvalid};

use crate::{ATTEMPT, refused_by_client, with, without};

fn rejected() -> Value {
    json!({"attemptId": ATTEMPT, "code": "input-gap", "message": "m", "retryable": false, "type": "invocationRejected", "version": 1})
}

fn result(result: Value) -> Value {
    json!({"mappings": [], "result": result, "type": "invocationResult", "version": 1})
}

fn item() -> Value {
    json!({
        "channel": 1, "cursorToken": "c", "mappings": [], "sequence": "0", "type": "outputStreamItem", "version": 1,
        "value": {"kind": "bool", "value": true},
    })
}

fn end(outcome: Value) -> Value {
    json!({"channel": 1, "cursorToken": "c", "outcome": outcome, "sequence": "0", "type": "outputStreamEnd", "version": 1})
}

fn ack() -> Value {
    json!({
        "channel": 1, "highestContiguousSequence": "1", "mappings": [], "terminal": false, "type": "inputStreamAck",
        "version": 1,
    })
}

fn finished(outcome: Value) -> Value {
    json!({"outcome": outcome, "type": "invocationFinished", "version": 1})
}

#[test]
fn section_6_each_variant_has_exactly_its_members() {
    let ok = || json!({"kind": "ok"});
    let messages =
        [rejected(), result(json!({"kind": "none"})), item(), end(ok()), ack(), finished(json!({"kind": "success"}))];
    for message in messages {
        assert_eq!(refused_by_client(&message), None, "{message}");
        assert_eq!(refused_by_client(with(message.clone(), "/extra", json!(1))), Some(MalformedMessage));
        for name in message.as_object().unwrap().keys() {
            let optional = message["type"] == "invocationRejected" && name == "attemptId"
                || message["type"] == "outputStreamEnd" && name == "cursorToken";
            let code = refused_by_client(without(message.clone(), &format!("/{name}")));
            assert_eq!(code, (!optional).then_some(MalformedMessage), "without {name}: {message}");
        }
    }
}

#[test]
fn section_6_results_and_outcomes_have_the_members_of_their_kind() {
    let value = json!({"kind": "bool", "value": true});
    let graph = json!({"root": {"kind": "bool", "value": {}}});
    assert_eq!(refused_by_client(result(json!({"kind": "value", "graph": graph, "value": value}))), None);
    for bad in [
        json!({"kind": "none", "value": null}),
        json!({"kind": "value", "value": value}),
        json!({"kind": "value", "graph": graph}),
        json!({"kind": "tool-success"}),
        json!(null),
    ] {
        assert_eq!(refused_by_client(result(bad.clone())), Some(MalformedMessage), "{bad}");
    }
    for bad in [
        json!({"kind": "ok", "message": "m"}),
        json!({"kind": "error", "code": "producer-error"}),
        json!({"kind": "error", "code": "no-such-code", "message": "m"}),
        json!({"kind": "cancelled", "reason": "bored"}),
        json!({"kind": "cancelled"}),
    ] {
        assert_eq!(refused_by_client(end(bad.clone())), Some(MalformedMessage), "{bad}");
    }
    for bad in [
        json!({"kind": "success", "code": "internal-error"}),
        json!({"kind": "failure", "code": "boom", "message": "m"}),
        json!({"kind": "failure", "code": "internal-error"}),
    ] {
        assert_eq!(refused_by_client(finished(bad.clone())), Some(MalformedMessage), "{bad}");
    }
}

#[test]
fn section_6_reasons_are_those_of_servers() {
    let cancel = |reason: &str| json!({"channel": 1, "reason": reason, "type": "streamCancel", "version": 1});
    for reason in [
        "cancelled",
        "consumer-drop",
        "transport-detached",
        "source-unavailable",
        "producer-deleted",
        "invocation-failed",
        "protocol-error",
    ] {
        assert_eq!(refused_by_client(cancel(reason)), None, "{reason}");
    }
    assert_eq!(refused_by_client(cancel("replaced")), Some(MalformedMessage));
    let revoked = |reason: &str| json!({"reason": reason, "type": "attachmentRevoked", "version": 1});
    assert_eq!(refused_by_client(revoked("replaced")), None);
    assert_eq!(refused_by_client(revoked("expired")), Some(MalformedMessage));
}

#[test]
fn v3_a_missing_cursor_is_omitted_and_never_null_or_empty() {
    let ended = |cursor: Value| refused_by_client(with(end(json!({"kind": "ok"})), "/cursorToken", cursor));
    assert_eq!(ended(json!(null)), Some(MalformedMessage));
    assert_eq!(ended(json!("")), Some(TokenInvalid));
    assert_eq!(refused_by_client(with(item(), "/cursorToken", json!(""))), Some(TokenInvalid), "and items have one");
}
