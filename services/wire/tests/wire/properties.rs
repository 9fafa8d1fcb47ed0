//! What holds for any event.

use proptest::prelude::*;
use prost::Message as _;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use wire::canonical::Canonical;
use wire::{Event, Session, normalise, protobuf};

use crate::strategy::{event, structure, text};

/// The fields of a message, each with its key, as they stand in its encoding.
fn fields(mut encoding: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    while !encoding.is_empty() {
        let start = encoding;
        let (_, wire_type) = decode_key(&mut encoding).unwrap();
        match wire_type {
            WireType::Varint => drop(decode_varint(&mut encoding).unwrap()),
            WireType::LengthDelimited => {
                let length = decode_varint(&mut encoding).unwrap() as usize;
                encoding = &encoding[length..];
            }
            other => panic!("no field here is {other:?}"),
        }
        fields.push(start[..start.len() - encoding.len()].to_vec());
    }
    fields
}

fn unknown_field(number: u32, value: &str) -> Vec<u8> {
    let mut field = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut field);
    encode_varint(value.len() as u64, &mut field);
    field.extend_from_slice(value.as_bytes());
    field
}

proptest! {
    #[test]
    fn the_canonical_form_survives_protobuf(event in event()) {
        let canonical = event.canonical_json().unwrap();
        let decoded = Event::decode(event.encode_to_vec().as_slice()).unwrap();
        prop_assert_eq!(decoded.canonical_json().unwrap(), canonical);
        prop_assert_eq!(decoded, event);
    }

    #[test]
    fn the_canonical_form_survives_json(event in event()) {
        let canonical = event.canonical_json().unwrap();
        let through_serde: Event = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        prop_assert_eq!(through_serde.canonical_json().unwrap(), canonical.as_str());
        let through_itself: Event = serde_json::from_str(&canonical).unwrap();
        prop_assert_eq!(through_itself.canonical_json().unwrap(), canonical.as_str());
    }

    #[test]
    fn unknown_fields_and_the_order_of_fields_are_irrelevant(
        event in event(),
        number in 100_000_u32..200_000,
        value in text(),
        seed in any::<u64>(),
    ) {
        let canonical = event.canonical_json().unwrap();
        let mut fields = fields(&event.encode_to_vec());
        fields.push(unknown_field(number, &value));
        shuffle(&mut fields, seed);
        let decoded = Event::decode(fields.concat().as_slice()).unwrap();
        prop_assert_eq!(decoded.canonical_json().unwrap(), canonical);
        prop_assert_eq!(decoded.encode_to_vec(), event.encode_to_vec());
    }

    #[test]
    fn the_order_of_map_entries_is_irrelevant(data in structure(), seed in any::<u64>()) {
        let mut entries = fields(&data.encode_to_vec());
        shuffle(&mut entries, seed);
        let decoded = protobuf::Struct::decode(entries.concat().as_slice()).unwrap();
        prop_assert_eq!(decoded.canonical_json().unwrap(), data.canonical_json().unwrap());

        let labels = data.fields.keys().map(|name| (name.clone(), name.clone())).collect();
        let session = Session { labels, ..Default::default() };
        let mut entries = fields(&session.encode_to_vec());
        shuffle(&mut entries, seed);
        let decoded = Session::decode(entries.concat().as_slice()).unwrap();
        prop_assert_eq!(decoded.canonical_json().unwrap(), session.canonical_json().unwrap());
    }

    #[test]
    fn a_normalised_event_hashes_the_same_once_stored(mut event in event(), seq in 1..u64::MAX) {
        normalise(&mut event);
        let hash = wire::content_hash(&event, seq, None).unwrap();
        let stored = event.encode_to_vec();
        let mut read = Event::decode(stored.as_slice()).unwrap();
        prop_assert_eq!(wire::content_hash(&read, seq, None).unwrap(), hash);
        normalise(&mut read);
        prop_assert_eq!(read.encode_to_vec(), stored);
    }

    #[test]
    fn a_hash_is_that_of_the_envelope_with_the_canonical_form_in_it(event in event(), seq in 1..u64::MAX) {
        use sha2::{Digest, Sha256};
        let prev = wire::content_hash(&event, seq, None).unwrap();
        let hash = wire::content_hash(&event, seq, Some(&prev)).unwrap();
        let text = format!(r#"{{"event":{},"prev_hash":"{prev}","seq":"{seq}"}}"#, event.canonical_json().unwrap());
        prop_assert_eq!(hash.hex(), hex::encode(Sha256::digest(text)));
    }
}

/// Fisher and Yates, driven by a seed.
fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for last in (1..items.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(last, (seed >> 33) as usize % (last + 1));
    }
}
