//! Values as people write them in JSON, given their type: records are objects, enumerations are names, numbers are numbers.
//! The table is in docs/stream-client.md.

mod read;
mod write;

use thiserror::Error;

pub use read::{read, read_record};
pub use write::{Namer, write};

/// Why JSON is no value of a type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{reason}", place(path))]
pub struct NotOfType {
    /// Where, from the outside in; empty for the whole.
    path: Vec<String>,
    reason: String,
}

impl NotOfType {
    fn new(reason: impl Into<String>) -> Self {
        Self { path: Vec::new(), reason: reason.into() }
    }

    /// The same, as seen from around `part`.
    fn within(mut self, part: impl Into<String>) -> Self {
        self.path.insert(0, part.into());
        self
    }
}

fn place(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!("{}: ", path.join(".")) }
}

#[cfg(test)]
mod tests;
