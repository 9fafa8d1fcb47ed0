//! What a request can fail of, and how it is told.

use std::time::Duration;

use controller::ports::ModelError;
use egress::Failure;
use reqwest::StatusCode;
use thiserror::Error;

use super::draft::BadAnswer;
use super::request::Unsendable;
use super::sse::TooLong;
use crate::ApiKey;

/// Longest text of a provider's, or name of a model, that a message quotes, in characters.
const QUOTE_LIMIT: usize = 300;

/// Why a request failed. Texts of the provider are in it as they came: only [`CallError::report`] makes them fit to
/// be shown.
#[derive(Debug, Error)]
pub(super) enum CallError {
    #[error(transparent)]
    Unsendable(#[from] Unsendable),
    #[error(transparent)]
    Unanswered(#[from] Failure),
    #[error("{message} (http {})", status.as_u16())]
    Refused { status: StatusCode, message: String, retry_after: Option<Duration> },
    #[error("the provider was silent for {0:?}")]
    Silent(Duration),
    #[error("no complete answer within {0:?}")]
    TimedOut(Duration),
    #[error("the answer is neither JSON nor an event stream")]
    ContentType,
    #[error("the answer broke off: {0}")]
    Broken(String),
    #[error("the stream ended before [DONE]")]
    Unfinished,
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    #[error(transparent)]
    Line(#[from] TooLong),
    #[error(transparent)]
    BadAnswer(#[from] BadAnswer),
}

impl CallError {
    /// What the caller and the journal are told: no key, no control characters, no endless text.
    pub(super) fn report(&self, model: &str, key: Option<&ApiKey>) -> ModelError {
        let model = quote(model, key);
        ModelError(match self {
            Self::Refused { status, message, .. } => {
                format!("openai: {model}: {} (http {})", quote(message, key), status.as_u16())
            }
            error => format!("openai: {model}: {}", quote(&error.to_string(), key)),
        })
    }
}

fn quote(text: &str, key: Option<&ApiKey>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.redact(text));
    let mut printable = String::new();
    for word in text.split(|char: char| char.is_whitespace() || char.is_control()).filter(|word| !word.is_empty()) {
        if !printable.is_empty() {
            printable.push(' ');
        }
        printable.push_str(word);
    }
    match printable.char_indices().nth(QUOTE_LIMIT) {
        Some((end, _)) => format!("{}…", &printable[..end]),
        None => printable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_provider_model_message_and_status() {
        let refused =
            CallError::Refused { status: StatusCode::NOT_FOUND, message: "no such model".into(), retry_after: None };
        assert_eq!(refused.report("m", None).to_string(), "openai: m: no such model (http 404)");
        assert_eq!(CallError::Unfinished.report("m", None).to_string(), "openai: m: the stream ended before [DONE]");
    }

    #[test]
    fn long_texts_are_cut_and_control_characters_dropped() {
        let message = format!("a\u{1b}[31m\r\n b{}", "é".repeat(400));
        let refused = CallError::Refused { status: StatusCode::BAD_REQUEST, message, retry_after: None };
        let report = refused.report("m\nn", None).to_string();
        let expected = format!("openai: m n: a [31m b{}… (http 400)", "é".repeat(300 - 8));
        assert_eq!(report, expected);
    }
}
