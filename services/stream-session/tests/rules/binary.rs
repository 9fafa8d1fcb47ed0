//! Protocol.md sections 4.2 and 7: binary messages.

use bytes::Bytes;
use serde_json::{Value, json};
use stream_session::ErrorCode::{
    self, InvalidChannel, InvalidSequence, MalformedMessage, ResourceExhausted, TokenInvalid, UnsupportedVersion,
    ValidationError,
};
use stream_session::binary::{BinaryItems, BinaryMessage};
use stream_session::token::Role;

use crate::{with, without};

const PACKED: usize = 1 << 20;
const ITEM: usize = 16 << 20;

fn metadata(kind: &str, count: &str) -> Value {
    json!({"channel": 1, "itemCount": count, "kind": kind, "sequence": "0", "version": 1})
}

fn packed() -> Value {
    metadata("input-u8", "3")
}

fn whole() -> Value {
    metadata("input-binary", "1")
}

fn frame(metadata: impl ToString, payload: &[u8]) -> Bytes {
    let metadata = metadata.to_string();
    let length = u32::try_from(metadata.len()).expect("metadata is short");
    [&length.to_be_bytes(), metadata.as_bytes(), payload].concat().into()
}

/// With which code a server refuses this message of a client.
fn refused(metadata: impl ToString, payload: &[u8]) -> Option<ErrorCode> {
    code(&frame(metadata, payload), Role::Input)
}

fn code(frame: &Bytes, from: Role) -> Option<ErrorCode> {
    BinaryMessage::decode(frame, from).err().map(|refusal| refusal.code)
}

#[test]
fn section_4_2_steps_2_to_4_the_metadata_is_inside_the_message() {
    let bytes = |bytes: &[u8]| code(&Bytes::copy_from_slice(bytes), Role::Input);
    assert_eq!(bytes(&[]), Some(MalformedMessage));
    assert_eq!(bytes(&[0, 0, 0]), Some(MalformedMessage));
    assert_eq!(bytes(&[0, 0, 0, 0]), Some(MalformedMessage), "empty metadata");
    assert_eq!(bytes(&[0, 0, 0, 9, b'{', b'}']), Some(MalformedMessage));
    assert_eq!(bytes(&[0, 0, 0x40, 1]), Some(ResourceExhausted), "the announced length is judged first");
    assert_eq!(bytes(&[0, 0, 0x40, 0]), Some(MalformedMessage));
    assert_eq!(bytes(&[0xff; 4]), Some(ResourceExhausted));
}

#[test]
fn section_4_2_step_5_the_metadata_is_strict_json_with_version_and_decimals() {
    assert_eq!(refused(packed(), &[1, 2, 3]), None);
    let text = packed().to_string();
    assert_eq!(refused(format!("{text}{{}}"), &[1, 2, 3]), Some(MalformedMessage));
    assert_eq!(refused(json!([packed()]), &[1, 2, 3]), Some(MalformedMessage));
    assert_eq!(
        refused(text.replace(r#""version":1"#, r#""version":1,"version":1"#), &[1, 2, 3]),
        Some(MalformedMessage)
    );
    assert_eq!(refused(with(packed(), "/version", json!(2)), &[1, 2, 3]), Some(UnsupportedVersion));
    assert_eq!(refused(without(packed(), "/version"), &[1, 2, 3]), Some(MalformedMessage));
    for name in ["/sequence", "/itemCount"] {
        assert_eq!(refused(with(packed(), name, json!(0)), &[1, 2, 3]), Some(MalformedMessage));
        assert_eq!(refused(with(packed(), name, json!("01")), &[1, 2, 3]), Some(MalformedMessage));
        let beyond = with(packed(), name, json!("18446744073709551616"));
        assert_eq!(refused(beyond, &[1, 2, 3]), Some(InvalidSequence));
    }
    let invalid: Bytes = [&[0, 0, 0, 2][..], &[b'"', 0xff]].concat().into();
    assert_eq!(code(&invalid, Role::Input), Some(MalformedMessage), "not UTF-8");
}

#[test]
fn section_4_2_step_6_exactly_these_members_and_a_known_kind() {
    for name in ["channel", "itemCount", "kind", "sequence"] {
        assert_eq!(refused(without(packed(), &format!("/{name}")), &[1, 2, 3]), Some(MalformedMessage), "{name}");
    }
    for (path, value) in [
        ("/extra", json!(1)),
        ("/kind", json!("input-u16")),
        ("/kind", json!("Input-u8")),
        ("/channel", json!("1")),
        ("/channel", json!(1.5)),
        ("/mimeType", json!(null)),
        ("/cursorToken", json!(null)),
    ] {
        assert_eq!(
            refused(with(packed(), path, value.clone()), &[1, 2, 3]),
            Some(MalformedMessage),
            "{path} = {value}"
        );
    }
}

#[test]
fn section_4_2_steps_7_and_8_channel_0_and_sequences_beyond_64_bits() {
    let last = |sequence: u64| with(packed(), "/sequence", json!(sequence.to_string()));
    assert_eq!(refused(last(u64::MAX - 3), &[1, 2, 3]), None);
    assert_eq!(refused(last(u64::MAX - 2), &[1, 2, 3]), Some(InvalidSequence));
    assert_eq!(refused(with(last(u64::MAX), "/channel", json!(0)), &[1, 2, 3]), Some(InvalidChannel));
}

#[test]
fn section_4_2_step_9_packed_messages_in_the_order_of_their_faults() {
    let of = |count: usize| metadata("input-u8", &count.to_string());
    assert_eq!(refused(of(PACKED), &vec![0; PACKED]), None);
    assert_eq!(refused(with(of(0), "/mimeType", json!("a/b")), &[]), Some(MalformedMessage), "empty");
    assert_eq!(refused(of(1), &vec![0; PACKED + 1]), Some(ResourceExhausted));
    assert_eq!(refused(with(of(2), "/mimeType", json!("a/b")), &[1]), Some(InvalidSequence));
    assert_eq!(refused(with(of(1), "/mimeType", json!("a/b")), &[1]), Some(MalformedMessage));
    assert_eq!(refused(with(of(1), "/cursorToken", json!("c")), &[1]), Some(MalformedMessage));
}

#[test]
fn section_4_2_step_9_and_b2_binary_items_in_the_order_of_their_faults() {
    assert_eq!(refused(whole(), &[]), None, "an empty item is legal");
    assert_eq!(refused(with(whole(), "/itemCount", json!("2")), &vec![0; ITEM + 1]), Some(ResourceExhausted));
    assert_eq!(
        refused(with(with(whole(), "/itemCount", json!("0")), "/mimeType", json!("")), &[]),
        Some(InvalidSequence)
    );
    assert_eq!(refused(with(whole(), "/cursorToken", json!("c")), &[]), Some(MalformedMessage));
}

#[test]
fn section_2_1_mime_types() {
    let mime = |text: &str| refused(with(whole(), "/mimeType", json!(text)), &[]);
    for good in ["a/b", "application/vnd.x+json", "A0!#$&^_.+-/Z9!#$&^_.+-"] {
        assert_eq!(mime(good), None, "{good}");
    }
    for bad in ["", "a", "a/", "/b", "a/b/c", "a/b; q=1", "a/*", "*/*", "a /b", "a/b\n", "\u{e4}/b"] {
        assert_eq!(mime(bad), Some(ValidationError), "{bad}");
    }
}

#[test]
fn section_7_outputs_have_a_cursor_and_come_from_servers_only() {
    let output = with(metadata("output-u8", "1"), "/cursorToken", json!("c"));
    let as_client = |metadata: &Value| code(&frame(metadata, &[1]), Role::Output);
    assert_eq!(as_client(&output), None);
    assert_eq!(as_client(&without(output.clone(), "/cursorToken")), Some(MalformedMessage));
    assert_eq!(as_client(&with(output.clone(), "/cursorToken", json!(""))), Some(TokenInvalid));
    assert_eq!(as_client(&with(output.clone(), "/cursorToken", json!("c".repeat(8193)))), Some(ResourceExhausted));
    assert_eq!(as_client(&metadata("input-u8", "1")), Some(InvalidChannel));
    assert_eq!(refused(&output, &[1]), Some(InvalidChannel));
}

#[test]
fn b5_charges_of_binary_items() {
    let whole = |length: usize, mime_type: Option<&str>| BinaryItems::Whole {
        data: vec![0; length].into(),
        mime_type: mime_type.map(str::to_owned),
    };
    assert_eq!(BinaryItems::Packed(vec![0; 5].into()).charge(), Ok(10));
    assert_eq!(whole(5, Some("a/b")).charge(), Ok(9));
    assert_eq!(whole(ITEM - 1, None).charge(), Ok(16 << 20));
    assert_eq!(whole(ITEM - 1, Some("a/b")).charge().unwrap_err().code, ResourceExhausted);
}
