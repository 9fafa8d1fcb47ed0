//! Nothing that a spec says is overlooked, at any depth.

use proptest::prelude::*;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use wire::harness_spec::Placement;
use wire::strict::{Received, Unknown, check_known};
use wire::{Capabilities, HarnessSpec, RegisterHarnessRequest, RemotePlacement, Resumability};

const NAME: u32 = 1;
const SPEC: u32 = 2;
const REMOTE: u32 = 1;
const CAPABILITIES: u32 = 3;

fn spec() -> HarnessSpec {
    let capabilities = Capabilities { resumability: Resumability::StatelessReplay.into(), ..Capabilities::default() };
    let remote = RemotePlacement { address: "127.0.0.1:9000".to_owned() };
    HarnessSpec {
        placement: Some(Placement::Remote(remote)),
        capabilities: Some(capabilities),
        descriptor_id: "echo".to_owned(),
    }
}

fn varint(number: u32, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(number, WireType::Varint, &mut bytes);
    encode_varint(value, &mut bytes);
    bytes
}

fn delimited(number: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut bytes);
    encode_varint(value.len() as u64, &mut bytes);
    [bytes, value.to_vec()].concat()
}

/// A good request in which `extra` follows, inside of the spec.
fn unknown(extra: &[u8]) -> Option<Unknown> {
    let spec = [spec().encode_to_vec(), extra.to_vec()].concat();
    let request = [delimited(NAME, b"h"), delimited(SPEC, &spec)].concat();
    Received::decode(&request).unwrap().unknown
}

#[test]
fn a_known_spec_hides_nothing() {
    assert_eq!(unknown(&[]), None);
    assert_eq!(check_known(&spec()), Ok(()));
}

#[test]
fn an_unknown_field_is_found_at_any_depth_and_in_any_encoding() {
    let group = [&[(99 << 3 | 3) as u8 | 0x80, (99 >> 4) as u8][..], &[(99 << 3 | 4) as u8 | 0x80, (99 >> 4) as u8]];
    for extra in [varint(99, 1), delimited(99, b"x"), group.concat()] {
        let message = "agentsessions.v1.HarnessSpec";
        assert_eq!(unknown(&extra), Some(Unknown::Field { message, number: 99 }));
        for (field, message) in
            [(REMOTE, "agentsessions.v1.RemotePlacement"), (CAPABILITIES, "agentsessions.v1.Capabilities")]
        {
            assert_eq!(unknown(&delimited(field, &extra)), Some(Unknown::Field { message, number: 99 }));
        }
    }
}

#[test]
fn an_unknown_field_is_found_where_decoding_forgets_the_message_around_it() {
    let forgotten = delimited(REMOTE, &varint(7, 1));
    let chosen = delimited(2, &[]);
    assert!(matches!(unknown(&[forgotten, chosen].concat()), Some(Unknown::Field { number: 7, .. })));
}

#[test]
fn an_enum_number_without_a_name_is_found() {
    let found = Unknown::EnumValue { message: "agentsessions.v1.Capabilities", number: 1, value: 9 };
    assert_eq!(unknown(&delimited(CAPABILITIES, &varint(1, 9))), Some(found));
    let capabilities = Some(Capabilities { resumability: 9, ..Capabilities::default() });
    let of_json = HarnessSpec { capabilities, ..spec() };
    assert_eq!(check_known(&of_json), Err(found));
    let request = RegisterHarnessRequest { name: "h".to_owned(), spec: Some(of_json) };
    assert_eq!(Received::from(request).unknown, Some(found));
}

#[test]
fn a_field_beside_the_spec_is_no_harm() {
    let request = [delimited(SPEC, &spec().encode_to_vec()), varint(99, 1)].concat();
    assert_eq!(Received::decode(&request).unwrap().unknown, None);
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_looked_through(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Received::decode(&delimited(SPEC, &bytes));
        let _ = Received::decode(&bytes);
    }

    #[test]
    fn no_field_number_but_those_of_the_spec_passes(number in 1_u32..2_000) {
        let passes = unknown(&delimited(number, &[])).is_none();
        prop_assert_eq!(passes, number <= 4);
    }
}
