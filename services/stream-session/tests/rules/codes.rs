//! Protocol.md sections 17 and 19.

use serde_json::json;
use stream_session::ErrorCode;
use stream_session::message::{ClientReason, ServerReason};

use crate::refused_by_client;

#[test]
fn section_19_the_codes_are_a_closed_set() {
    let codes = [
        "unsupported-subprotocol",
        "authentication-failed",
        "unauthorized",
        "not-found",
        "validation-error",
        "unsupported-value",
        "malformed-message",
        "unsupported-version",
        "protocol-error",
        "invalid-channel",
        "invalid-sequence",
        "stream-already-consumed",
        "stream-conflict",
        "idempotency-conflict",
        "attempt-conflict",
        "stale-session",
        "future-session",
        "invalid-attachment-state",
        "input-conflict",
        "input-gap",
        "invalid-cursor",
        "token-invalid",
        "resource-exhausted",
        "producer-error",
        "invocation-failed",
        "routing-miss",
        "internal-error",
    ];
    assert_eq!(ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>(), codes);
    for code in codes {
        assert_eq!(ErrorCode::parse(code).map(ErrorCode::as_str), Some(code));
    }
    let rejected = |code: &str| json!({"code": code, "message": "m", "retryable": true, "type": "invocationRejected", "version": 1});
    assert_eq!(refused_by_client(rejected("routing-miss")), None, "O-13");
    for code in ["no-such-code", "Not-Found", ""] {
        assert_eq!(refused_by_client(rejected(code)), Some(ErrorCode::MalformedMessage), "{code}");
    }
}

#[test]
fn section_5_client_reasons_are_told_on_as_they_came() {
    for reason in ["cancelled", "consumer-drop", "source-unavailable"] {
        let said = ClientReason::parse(reason).unwrap();
        assert_eq!(ServerReason::from(said).as_str(), reason);
    }
}
