//! The JSON of an answer. A whole answer is read as one chunk: it differs in the name of one member.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// One event of a stream, or a whole answer.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub choices: Vec<Choice>,
    pub usage: Option<Usage>,
    pub error: Option<Complaint>,
}

/// One of the alternatives that a provider may offer; we ask for one only.
#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub index: u32,
    /// In a stream.
    pub delta: Option<Fragment>,
    /// In a whole answer.
    pub message: Option<Fragment>,
}

/// A piece of the message.
#[derive(Debug, Deserialize)]
pub(super) struct Fragment {
    pub content: Option<String>,
    pub reasoning_content: Option<String>,
    pub tool_calls: Option<Vec<CallFragment>>,
}

/// A piece of a tool call. In a stream id and name come with the first piece, arguments in any number of pieces.
#[derive(Debug, Deserialize)]
pub(super) struct CallFragment {
    /// Which call it belongs to. Some providers leave it out.
    pub index: Option<u32>,
    pub id: Option<String>,
    pub function: Option<FunctionFragment>,
}

/// A piece of what is called.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionFragment {
    pub name: Option<String>,
    pub arguments: Option<String>,
}

/// What the answer cost, in tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub prompt_tokens: u64,
    #[serde(default)]
    pub completion_tokens: u64,
    pub completion_tokens_details: Option<CompletionDetails>,
}

/// Part of [`Usage`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default)]
    pub reasoning_tokens: u64,
}

/// The body of a refusal. Providers agree on none of its members.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Refusal {
    error: Option<Complaint>,
    message: Option<Complaint>,
}

/// What a provider has to say about a failure.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Complaint {
    Text(String),
    Object { message: String },
    Other(IgnoredAny),
}

impl Usage {
    pub(super) fn reasoning_tokens(&self) -> u64 {
        self.completion_tokens_details.map_or(0, |details| details.reasoning_tokens)
    }
}

impl Refusal {
    /// The provider's own words, if `body` holds any.
    pub(super) fn message_in(body: &[u8]) -> Option<String> {
        let refusal: Self = serde_json::from_slice(body).ok()?;
        refusal.error.or(refusal.message)?.text().map(str::to_owned)
    }
}

impl Complaint {
    /// The provider's own words, if these are any.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(message) | Self::Object { message } if !message.is_empty() => Some(message),
            _ => None,
        }
    }
}
