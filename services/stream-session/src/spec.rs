//! The contract's vector files for stream sessions.

#[path = "../../../tests/support/spec_files.rs"]
mod files;

use serde::de::DeserializeOwned;

/// The vectors in `file`, if they are at hand.
pub(crate) fn vectors<T: DeserializeOwned>(file: &str) -> Option<T> {
    Some(serde_json::from_str(&text(file)?).expect("vectors are of the known form"))
}

/// The text of `file`, if it is at hand.
pub(crate) fn text(file: &str) -> Option<String> {
    Some(std::fs::read_to_string(files::directory("stream-session")?.join(file)).expect("vectors can be read"))
}
