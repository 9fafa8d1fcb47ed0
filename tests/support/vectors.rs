//! The contract's vector files, where they are at hand: in `sessions/vectors` of the directory that `SPEC_VECTORS_DIR` names,
//! by default `../shared/spec` beside the project. Tests of other crates include this file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs, io};

use serde::Deserialize;
use serde_json::{Map, Value};
use wire::{Event, LogRecord};

/// Where the vectors are; `None`, and one line that says so, where they are not.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    static NOTICE: Once = Once::new();
    let vectors =
        env::var_os("SPEC_VECTORS_DIR").map_or_else(beside_the_project, PathBuf::from).join("sessions/vectors");
    if vectors.is_dir() {
        return Some(vectors);
    }
    // Straight to the stream, which the test harness does not capture as it captures `eprintln`.
    NOTICE.call_once(|| {
        let notice = format!("NOT RUN: vectors, {} is not there (set SPEC_VECTORS_DIR)\n", vectors.display());
        io::stderr().write_all(notice.as_bytes()).expect("standard error takes a line");
    });
    None
}

fn beside_the_project() -> PathBuf {
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let project = ancestors.find(|directory| directory.join("Cargo.lock").is_file());
    project.expect("the crate is in the workspace").join("../shared/spec")
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
