//! What is logged, and how.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::Targets;

use super::{InvalidValue, Raw, text_value};

text_value!(LogFormat);
text_value!(LogFilter);

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub enum LogFormat {
    /// Text if standard error is a terminal, JSON otherwise.
    Auto,
    /// For people.
    Text,
    /// One object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(InvalidValue(format!("{text:?} is none of auto, text and json"))),
        }
    }
}

/// Which log lines are written: a least level, or a list of `target=level`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter.
    #[must_use]
    pub fn targets(&self) -> Targets {
        // Parsed once before, by `from_str`; the default is plain `info`.
        self.0.parse().unwrap_or_default()
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl FromStr for LogFilter {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.parse::<Targets>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(InvalidValue(format!(
                "{text:?} is not a log filter such as info,agentsessions::call=warn: {error}"
            ))),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
