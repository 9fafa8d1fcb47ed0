//! The types of configuration values. Each is read from text, the same in the file, the environment and a flag.

mod amounts;
mod logs;
mod operators;
mod places;
mod switches;

use serde::Deserialize;
use thiserror::Error;

pub use amounts::{ByteSize, Count, Period, Retries};
pub use logs::{LogFilter, LogFormat};
pub use operators::RegistryAddr;
pub use places::{JournalPlace, ListenAddr, OptionalAddr, OtlpEndpoint, StaticHarness, Subspace};
pub use switches::Switch;

/// Why a text is not a configuration value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidValue(String);

/// What a file holds for a value: text, a bare number, or true or false.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected text, a whole number, true or false")]
enum Raw {
    Text(String),
    Number(u64),
    Bool(bool),
}

impl Raw {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
            Self::Bool(on) => on.to_string(),
        }
    }
}

/// Reads and writes a value through its text form.
macro_rules! text_value {
    ($name:ident) => {
        impl TryFrom<Raw> for $name {
            type Error = InvalidValue;

            fn try_from(raw: Raw) -> Result<Self, InvalidValue> {
                raw.into_text().parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

use text_value;
