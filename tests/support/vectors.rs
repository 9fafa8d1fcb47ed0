//! The contract's vector files for sessions. Tests of other crates include this file.

#[path = "spec_files.rs"]
mod spec_files;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use wire::{Event, LogRecord};

/// Where the vectors are; `None`, and one line that says so, where they are not.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    spec_files::directory("sessions")
}

/// The journals of the reference host's release 0.1.2, by name, as records of this version; none where they are not at
/// hand.
#[must_use]
pub fn old_journals() -> Vec<(String, Vec<LogRecord>)> {
    let Some(vectors) = directory() else { return Vec::new() };
    let files = fs::read_dir(vectors.join("v0.1.2")).expect("the old journals are with the vectors");
    let mut journals: Vec<_> = files.map(|entry| old_journal(&entry.expect("an entry").path())).collect();
    journals.sort_by(|(one, _), (other, _)| one.cmp(other));
    journals
}

fn old_journal(path: &Path) -> (String, Vec<LogRecord>) {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).expect("a vector can be read");
    let records: Vec<GoRecord> = serde_json::from_str(&text).expect("a vector is a list of records");
    (name, records.into_iter().map(GoRecord::into_record).collect())
}

/// A record as a Go struct prints it.
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
        let mut event = Event::deserialize(proto_json(self.event)).expect("an event in other names");
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
