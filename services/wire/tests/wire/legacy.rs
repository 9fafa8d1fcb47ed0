//! Journals of the reference host's release 0.1.2, which print records as Go structs.

use std::fs;

use serde::Deserialize;
use serde_json::{Map, Value};
use wire::event::Body;
use wire::verify::Verifier;
use wire::{Event, LogRecord, Message, ModelCall};

use crate::vectors;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoRecord {
    seq: i64,
    prev_hash: String,
    hash: String,
    fence: i64,
    event: Value,
}

impl GoRecord {
    fn into_record(self) -> LogRecord {
        let mut event = Event::deserialize(proto_json(self.event)).unwrap();
        wire::normalise(&mut event);
        LogRecord {
            seq: self.seq,
            prev_hash: self.prev_hash,
            content_hash: self.hash,
            fence: self.fence,
            event: Some(event),
        }
    }
}

/// Renames the members of a Go struct. What Go prints for an unset member is left out.
fn proto_json(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(members.into_iter().filter_map(member).collect::<Map<_, _>>()),
        Value::Array(items) => items.into_iter().map(proto_json).collect(),
        other => other,
    }
}

fn member((name, value): (String, Value)) -> Option<(String, Value)> {
    match (name.as_str(), value) {
        (_, Value::Null) => None,
        ("Timestamp", time) if time == "0001-01-01T00:00:00Z" => None,
        ("Timestamp", time) => Some(("ts".into(), time)),
        ("ModelCall", call) => Some(("model".into(), proto_json(call))),
        ("Kind", Value::String(kind)) => Some(("kind".into(), format!("EVENT_{kind}").into())),
        (_, value) => Some((snake_case(&name), proto_json(value))),
    }
}

fn snake_case(name: &str) -> String {
    name.replace("ID", "Id").chars().fold(String::new(), |mut out, c| {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
        out
    })
}

fn journals() -> Vec<(String, Vec<LogRecord>)> {
    let Some(vectors) = vectors::directory() else { return Vec::new() };
    let files = fs::read_dir(vectors.join("v0.1.2")).unwrap().map(|entry| entry.unwrap().path());
    let journal = |path| serde_json::from_str::<Vec<GoRecord>>(&fs::read_to_string(path).unwrap()).unwrap();
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, journal(path).into_iter().map(GoRecord::into_record).collect())
        })
        .collect()
}

#[test]
fn chains_of_old_journals_verify() {
    for (name, records) in journals() {
        let mut verifier = Verifier::new();
        for record in &records {
            verifier.check(record).unwrap_or_else(|bad| panic!("{name}: {bad}"));
        }
    }
}

#[test]
fn input_hashes_of_old_journals_are_those_of_an_echo_request_for_the_last_input() {
    for (name, records) in journals() {
        let mut input = String::new();
        for body in records.into_iter().filter_map(|record| record.event?.body) {
            match body {
                Body::Message(message) if message.role == "user" => input = message.text_content(),
                Body::Model(recorded) => assert_eq!(recorded.input_hash, echo_hash(&input), "{name}: {input}"),
                _ => {}
            }
        }
    }
}

fn echo_hash(text: &str) -> String {
    let call = ModelCall { model: "echo".into(), messages: vec![Message::text("user", text)], ..Default::default() };
    wire::input_hash(&call).unwrap()
}
