//! The text messages (protocol.md sections 3, 5 and 6).

mod client;
mod decode;
mod encode;
mod mapping;
mod server;

use uuid::Uuid;

pub(crate) use client::check_selector;
pub(crate) use decode::{check_channel, check_decimals, check_token, check_version, decimal};

use crate::json::Json;
use crate::token::Role;
use crate::value::Value;
use crate::{ErrorCode, Refusal};

/// What a client says.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage<'t> {
    /// Start an invocation.
    Start(Start<'t>),
    /// Go on with one.
    Attach(Attach),
    /// An item of an input.
    Item {
        /// Where.
        channel: u32,
        /// Its index.
        sequence: u64,
        /// The item.
        value: Node<'t>,
    },
    /// An input has no more items.
    End {
        /// Where.
        channel: u32,
        /// How many items it had.
        sequence: u64,
    },
    /// A stream is of no use any more.
    Cancel {
        /// Where.
        channel: u32,
        /// Why.
        reason: ClientReason,
    },
}

/// `invocationStart`
#[derive(Clone, Debug, PartialEq)]
pub struct Start<'t> {
    /// The attempt.
    pub attempt: Uuid,
    /// What to invoke.
    pub selector: Selector<'t>,
    /// Settings for the agent.
    pub config: Vec<ConfigEntry<'t>>,
    /// Names the invocation for its agent.
    pub idempotency_key: String,
    /// The arguments.
    pub method_parameters: Node<'t>,
}

/// What to invoke.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector<'t> {
    /// The application.
    pub application: String,
    /// The environment.
    pub environment: String,
    /// The type of agent.
    pub agent_type: String,
    /// The method.
    pub method: String,
    /// Which agent of the type.
    pub constructor_parameters: Node<'t>,
    /// Which one of several such agents.
    pub phantom: Option<Uuid>,
}

/// A setting for the agent: plain JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry<'t> {
    /// Its place; no empty name.
    pub path: Vec<String>,
    /// Any JSON.
    pub value: Json<'t>,
}

/// `resumeAttach`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The attempt.
    pub attempt: Uuid,
    /// How.
    pub operation: Operation,
    /// The session.
    pub session_token: String,
    /// What was seen of its outputs.
    pub output_cursors: Vec<String>,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerMessage<'t> {
    /// The attempt was accepted.
    Accepted {
        /// The attempt.
        attempt: Uuid,
        /// The key of the invocation.
        idempotency_key: String,
        /// Every stream.
        mappings: Vec<Mapping>,
        /// For the next attach.
        session_token: String,
    },
    /// It was not, or the client broke a rule.
    Rejected(Rejection),
    /// The method returned.
    Result {
        /// Streams that are new here.
        mappings: Vec<Mapping>,
        /// What it returned.
        result: MethodResult<'t>,
    },
    /// An item of an output.
    Item {
        /// Where.
        channel: u32,
        /// Its index.
        sequence: u64,
        /// Stands for it.
        cursor: String,
        /// Streams that are new here.
        mappings: Vec<Mapping>,
        /// The item.
        value: Node<'t>,
    },
    /// An output has no more items.
    End {
        /// Where.
        channel: u32,
        /// How many it had.
        sequence: u64,
        /// Stands for the end, if that is recorded.
        cursor: Option<String>,
        /// How it ended.
        outcome: OutputOutcome,
    },
    /// Input was made durable.
    Ack {
        /// Where.
        channel: u32,
        /// How many items are durable.
        sequence: u64,
        /// Streams that are new here.
        mappings: Vec<Mapping>,
        /// Whether the input has ended.
        terminal: bool,
    },
    /// An input is of no use any more.
    Cancel {
        /// Where.
        channel: u32,
        /// Why.
        reason: ServerReason,
    },
    /// Another connection has the session.
    Revoked,
    /// Everything has ended.
    Finished(InvocationOutcome),
}

/// `invocationRejected`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The attempt, if it is known.
    pub attempt: Option<Uuid>,
    /// Why.
    pub code: ErrorCode,
    /// In words.
    pub message: String,
    /// Whether a new attempt may succeed.
    pub retryable: bool,
}

/// What a method returned.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodResult<'t> {
    /// It has no output type.
    None,
    /// A value.
    Value {
        /// Rooted at the method's output type.
        graph: Node<'t>,
        /// The value.
        value: Node<'t>,
    },
}

/// How an output ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputOutcome {
    /// Well.
    Ok,
    /// Its producer failed.
    Error {
        /// Why.
        code: ErrorCode,
        /// In words.
        message: String,
    },
    /// It was cancelled.
    Cancelled(ServerReason),
}

/// What is said of an invocation that its agent failed, whatever it failed of (V1).
pub const INVOCATION_FAILED: &str = "the invocation failed";

/// How an invocation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvocationOutcome {
    /// Well.
    Success,
    /// It failed.
    Failure {
        /// Why.
        code: ErrorCode,
        /// In words.
        message: String,
    },
}

/// Where a stream is on this connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its number here.
    pub channel: u32,
    /// Its token.
    pub stream_token: String,
    /// Which way it goes, with what belongs to that way.
    pub way: Way,
}

/// Which way a mapped stream goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the agent.
    Input {
        /// What the client called it, where this answers that.
        provisional: Option<Uuid>,
        /// How many of its items are durable.
        high_water: u64,
        /// Whether it has ended.
        terminal: bool,
    },
    /// To the client.
    Output,
}

/// A value or a graph in a message: as it was read, to be looked at when its type is known, or to be written.
#[derive(Clone, Debug)]
pub enum Node<'t> {
    /// As it was read.
    Json(Json<'t>),
    /// A value to be written.
    Value(&'t Value),
    /// What is to be written, in its canonical form.
    Text(&'t str),
}

/// A message that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Why.
    pub refusal: Refusal,
    /// The attempt that it names, as far as that can be told (V2).
    pub attempt: Option<Uuid>,
}

/// Enumerations and their spelling.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
        }

        impl $name {
            /// As it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// Reads it.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$word),)*
                    _ => None,
                }
            }
        }
    )*};
}

words! {
    /// How to attach.
    Operation {
        /// To a detached session.
        Resume = "resume",
        /// To an attached one.
        Takeover = "takeover",
    }
    /// Why a client cancels a stream.
    ClientReason {
        /// The user said so.
        Cancelled = "cancelled",
        /// Nobody reads an output.
        ConsumerDrop = "consumer-drop",
        /// The source of an input failed.
        SourceUnavailable = "source-unavailable",
    }
    /// Why a stream was cancelled.
    ServerReason {
        /// The user said so.
        Cancelled = "cancelled",
        /// Nobody reads it.
        ConsumerDrop = "consumer-drop",
        /// The durable record says so (V4).
        TransportDetached = "transport-detached",
        /// Its source failed.
        SourceUnavailable = "source-unavailable",
        /// Its producer was deleted.
        ProducerDeleted = "producer-deleted",
        /// The invocation failed.
        InvocationFailed = "invocation-failed",
        /// A rule was broken.
        ProtocolError = "protocol-error",
    }
}

impl From<ClientReason> for ServerReason {
    fn from(reason: ClientReason) -> Self {
        match reason {
            ClientReason::Cancelled => Self::Cancelled,
            ClientReason::ConsumerDrop => Self::ConsumerDrop,
            ClientReason::SourceUnavailable => Self::SourceUnavailable,
        }
    }
}

impl Mapping {
    /// Which way the stream goes.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.way {
            Way::Input { .. } => Role::Input,
            Way::Output => Role::Output,
        }
    }
}

impl PartialEq for Node<'_> {
    /// By what they are when written.
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

#[cfg(test)]
mod tests;
