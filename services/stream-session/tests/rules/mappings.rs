//! Protocol.md section 3: what a client refuses of the mappings that a server sends.

use serde_json::{Value, json};
use stream_session::ErrorCode::{
    InvalidChannel, InvalidSequence, MalformedMessage, ResourceExhausted, StreamConflict, TokenInvalid, ValidationError,
};

use crate::{ATTEMPT, REFERENCE, refused_by_client, with, without};

fn accepted(mappings: Value) -> Value {
    json!({
        "attemptId": ATTEMPT, "idempotencyKey": "k", "mappings": mappings, "sessionToken": "t",
        "type": "invocationAccepted", "version": 1,
    })
}

fn input(channel: u32, token: &str) -> Value {
    let high_water = json!({"sequence": "0", "terminal": false});
    json!({"channel": channel, "direction": "input", "inputHighWater": high_water, "streamToken": token})
}

fn output(channel: u32, token: &str) -> Value {
    json!({"channel": channel, "direction": "output", "streamToken": token})
}

#[test]
fn m1_channels_tokens_and_references_are_distinct_and_fit_the_direction() {
    let named = |channel, token| with(input(channel, token), "/provisionalRef", json!(REFERENCE));
    let cases = [
        (json!([named(1, "a"), output(2, "b")]), None),
        (json!([input(1, "a"), output(1, "b")]), Some(InvalidChannel)),
        (json!([input(1, "a"), output(2, "a")]), Some(StreamConflict)),
        (json!([named(1, "a"), named(2, "b")]), Some(StreamConflict)),
        (json!([without(input(1, "a"), "/inputHighWater")]), Some(StreamConflict)),
        (
            json!([with(output(1, "a"), "/inputHighWater", json!({"sequence": "0", "terminal": false}))]),
            Some(StreamConflict),
        ),
        (json!([with(output(1, "a"), "/provisionalRef", json!(REFERENCE))]), Some(StreamConflict)),
    ];
    for (mappings, code) in cases {
        assert_eq!(refused_by_client(accepted(mappings.clone())), code, "{mappings}");
    }
    let many = |count: u32| (1..=count).map(|n| output(n, &format!("t{n}"))).collect::<Vec<_>>();
    assert_eq!(refused_by_client(accepted(many(4096).into())), None);
    assert_eq!(refused_by_client(accepted(many(4097).into())), Some(ResourceExhausted));
}

#[test]
fn section_3_the_members_of_a_mapping() {
    let changed = |path: &str, value: Value| refused_by_client(accepted(json!([with(input(1, "a"), path, value)])));
    let high_water = |sequence: Value, terminal: Value| json!({"sequence": sequence, "terminal": terminal});
    assert_eq!(changed("/channel", json!(0)), Some(InvalidChannel));
    assert_eq!(changed("/direction", json!("sideways")), Some(MalformedMessage));
    assert_eq!(changed("/streamToken", json!("")), Some(TokenInvalid));
    assert_eq!(changed("/streamToken", json!("t".repeat(8193))), Some(ResourceExhausted));
    assert_eq!(changed("/provisionalRef", json!(null)), Some(MalformedMessage));
    assert_eq!(changed("/provisionalRef", json!("994df72a-ebc7-10e0-a8ef-c9ce258f3da7")), Some(ValidationError));
    assert_eq!(changed("/byteRole", json!("x")), Some(MalformedMessage));
    assert_eq!(changed("/inputHighWater", high_water(json!(0), json!(false))), Some(MalformedMessage));
    assert_eq!(
        changed("/inputHighWater", high_water(json!("18446744073709551616"), json!(false))),
        Some(InvalidSequence)
    );
    assert_eq!(changed("/inputHighWater", high_water(json!("0"), json!(null))), Some(MalformedMessage));
    assert_eq!(changed("/inputHighWater", json!({"sequence": "0"})), Some(MalformedMessage));
}
