//! The golden vectors of the contract, where they are at hand. The facts they fix are restated in the other modules, which
//! always run.

use std::fs;

use prost::Message;
use serde::Deserialize;
use serde_json::Value;
use wire::canonical::Canonical;
use wire::{ContentHash, Event, HarnessSpec, ModelCall, Session};

use crate::spec::directory;

#[derive(Deserialize)]
struct Golden {
    record_hashes: Vec<RecordHash>,
    canonical_forms: Vec<CanonicalForm>,
    harness_spec_digests: Vec<SpecDigest>,
    input_hashes: Vec<InputHash>,
}

#[derive(Deserialize)]
struct RecordHash {
    name: String,
    event: Event,
    prev_hash: String,
    seq: u64,
    content_hash: String,
    event_protobuf_hex: Option<String>,
    canonical: String,
}

#[derive(Deserialize)]
struct CanonicalForm {
    name: String,
    message: String,
    value: Value,
    canonical: String,
    content_hash_seq1_empty_prev: Option<String>,
}

#[derive(Deserialize)]
struct SpecDigest {
    name: String,
    value: HarnessSpec,
    canonical: String,
    spec_digest: String,
}

#[derive(Deserialize)]
struct InputHash {
    name: String,
    model_call: ModelCall,
    input_hash: String,
}

fn golden() -> Option<Golden> {
    let text = fs::read_to_string(directory()?.join("golden-hashes.json")).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn golden_record_hashes_are_reproduced() {
    for vector in golden().into_iter().flat_map(|golden| golden.record_hashes) {
        let prev = ContentHash::parse_prev(&vector.prev_hash).unwrap();
        let hash = |event: &Event| wire::content_hash(event, vector.seq, prev.as_ref()).unwrap().hex();
        assert_eq!(hash(&vector.event), vector.content_hash, "{}", vector.name);

        let text = vector.event.canonical_json().unwrap();
        assert!(vector.canonical.starts_with(&format!("{{\"event\":{text},\"prev_hash\"")), "{}", vector.name);

        if let Some(hex) = vector.event_protobuf_hex {
            let decoded = Event::decode(hex::decode(hex).unwrap().as_slice()).unwrap();
            assert_eq!(hash(&decoded), vector.content_hash, "{}", vector.name);
        }
    }
}

#[test]
fn golden_canonical_forms_are_reproduced() {
    for vector in golden().into_iter().flat_map(|golden| golden.canonical_forms) {
        let (text, hash) = match vector.message.as_str() {
            "agentsessions.v1.Event" => {
                let event = Event::deserialize(&vector.value).unwrap();
                (event.canonical_json(), Some(wire::content_hash(&event, 1, None).unwrap().hex()))
            }
            "agentsessions.v1.Session" => (Session::deserialize(&vector.value).unwrap().canonical_json(), None),
            other => panic!("{}: no test reads a {other}", vector.name),
        };
        assert_eq!(text.unwrap(), vector.canonical, "{}", vector.name);
        assert_eq!(hash, vector.content_hash_seq1_empty_prev, "{}", vector.name);
    }
}

#[test]
fn golden_spec_digests_are_reproduced() {
    for vector in golden().into_iter().flat_map(|golden| golden.harness_spec_digests) {
        assert_eq!(vector.value.canonical_json().unwrap(), vector.canonical, "{}", vector.name);
        assert_eq!(wire::spec_digest(&vector.value).unwrap(), vector.spec_digest, "{}", vector.name);
    }
}

#[test]
fn golden_input_hashes_are_reproduced() {
    for vector in golden().into_iter().flat_map(|golden| golden.input_hashes) {
        assert_eq!(wire::input_hash(&vector.model_call).unwrap(), vector.input_hash, "{}", vector.name);
    }
}
