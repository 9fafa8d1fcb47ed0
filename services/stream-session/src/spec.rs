//! The contract's vector files for stream sessions.

#[path = "../../../tests/support/spec_files.rs"]
mod files;

use serde::de::DeserializeOwned;

/// The vectors in `file`, if they are at hand.
pub(crate) fn vectors<T: DeserializeOwned>(file: &str) -> Option<T> {
    let text = std::fs::read(files::directory("stream-session")?.join(file)).expect("vectors can be read");
    Some(serde_json::from_slice(&text).expect("vectors are of the known form"))
}
