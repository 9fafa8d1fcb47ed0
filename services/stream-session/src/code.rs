//! The closed set of error codes (protocol.md section 19).

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// An error code of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code as it is written on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The subprotocol was not offered (H1).
    UnsupportedSubprotocol = "unsupported-subprotocol",
    /// The credential is missing or invalid.
    AuthenticationFailed = "authentication-failed",
    /// No permission, or the caller is not the one bound in the token.
    Unauthorized = "unauthorized",
    /// Application, environment, agent type, agent or method is unknown.
    NotFound = "not-found",
    /// Selector, configuration, value or identifier breaks its public schema.
    ValidationError = "validation-error",
    /// A value of a kind that cannot cross the boundary, or a stream where none may be.
    UnsupportedValue = "unsupported-value",
    /// UTF-8, JSON, envelope, member set, canonical form.
    MalformedMessage = "malformed-message",
    /// JSON, binary, token, schema or checkpoint version.
    UnsupportedVersion = "unsupported-version",
    /// A message that is illegal in the present state.
    ProtocolError = "protocol-error",
    /// A channel that is zero, unknown, stale, duplicate, premature, or of the wrong direction or lane.
    InvalidChannel = "invalid-channel",
    /// A sequence or count that is invalid or overflows.
    InvalidSequence = "invalid-sequence",
    /// A stream stands at two places (N4).
    StreamAlreadyConsumed = "stream-already-consumed",
    /// A token or provisional reference is bound differently.
    StreamConflict = "stream-conflict",
    /// The key names another invocation.
    IdempotencyConflict = "idempotency-conflict",
    /// The attempt id was used with other content.
    AttemptConflict = "attempt-conflict",
    /// A session token of an older generation.
    StaleSession = "stale-session",
    /// A session token of a generation that never was.
    FutureSession = "future-session",
    /// Resume while Attached, or takeover while Detached.
    InvalidAttachmentState = "invalid-attachment-state",
    /// A duplicate range with other borders or content.
    InputConflict = "input-conflict",
    /// Input beyond the next expected sequence.
    InputGap = "input-gap",
    /// A cursor that is duplicated, of another stream or session, or beyond history.
    InvalidCursor = "invalid-cursor",
    /// A token that is malformed, tampered with, of the wrong kind, deployment or parent, or expired by retention.
    TokenInvalid = "token-invalid",
    /// A limit of section 18, or of the account.
    ResourceExhausted = "resource-exhausted",
    /// The producer ended one stream with an error.
    ProducerError = "producer-error",
    /// The invocation failed after acceptance.
    InvocationFailed = "invocation-failed",
    /// The owner of the agent is moving. Not emitted here (O-13).
    RoutingMiss = "routing-miss",
    /// Anything else.
    InternalError = "internal-error",
}

impl ErrorCode {
    /// Reads a code; `None` for a text outside the set.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something was refused: why, as a code, and in words that are safe to show (V1): they name what is wrong with the message,
/// and never quote it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}: {text}")]
pub struct Refusal {
    /// The code.
    pub code: ErrorCode,
    /// The words.
    pub text: Cow<'static, str>,
}

impl Refusal {
    /// A refusal with this code, in these words.
    #[must_use]
    pub fn new(code: ErrorCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }

    /// The same, with the place of what is refused before the words.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        Self::new(self.code, format!("{place}: {}", self.text))
    }

    /// [`ErrorCode::MalformedMessage`], in these words.
    #[must_use]
    pub fn malformed(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::MalformedMessage, text)
    }

    /// [`ErrorCode::ValidationError`], in these words.
    #[must_use]
    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::ValidationError, text)
    }

    /// [`ErrorCode::ResourceExhausted`], in these words.
    #[must_use]
    pub fn exhausted(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::ResourceExhausted, text)
    }
}
