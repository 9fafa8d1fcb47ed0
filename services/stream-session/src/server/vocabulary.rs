//! What a connection is told and what it asks for.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use crate::Refusal;
use crate::binary::BinaryItems;
use crate::graph::{Graph, Lane, Type};
use crate::message::{Attach, ClientReason, InvocationOutcome, OutputOutcome, ServerReason, Start};
use crate::token::Role;
use crate::value::Value;

/// The type of a stream's items.
#[derive(Clone, Debug)]
pub struct Element {
    /// Where the type is defined.
    pub graph: Arc<Graph>,
    /// The type.
    pub of: Type,
    /// How the items travel.
    pub lane: Lane,
}

/// A stream of the session, as it is when the connection learns of it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Names it for the driver.
    pub id: Uuid,
    /// Its token, always the same text.
    pub token: String,
    /// Which way it goes, with what belongs to that way.
    pub way: StreamWay,
}

/// Which way a stream goes.
#[derive(Clone, Debug)]
pub enum StreamWay {
    /// To the agent.
    Input {
        /// The type of its items.
        element: Box<Element>,
        /// What the client called it, if this answers that.
        provisional: Option<Uuid>,
        /// How many of its items are durable.
        high_water: u64,
        /// How it ended, if it did.
        terminal: Option<InputTerminal>,
    },
    /// To the client.
    Output,
}

/// How an input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputTerminal {
    /// The client said that there is no more.
    Ended,
    /// The client cancelled it.
    CancelledByClient,
    /// The agent has no use for it.
    CancelledByServer,
}

/// An item of an input, read and held against its type.
#[derive(Clone, Debug)]
pub enum InputItem {
    /// A value, and the streams that it introduces, in document order.
    Value(Value, Vec<NestedInput>),
    /// Bytes.
    Binary(BinaryItems),
}

/// An input that an item introduces.
#[derive(Clone, Debug)]
pub struct NestedInput {
    /// What the client calls it.
    pub provisional: Uuid,
    /// The type of its items, which is defined where that of the item is.
    pub element: Type,
}

/// An item of an output, durable.
#[derive(Clone, Debug)]
pub enum OutputItem {
    /// The text of a value in its normal form, and its streams.
    Value(String, Vec<Stream>),
    /// Bytes.
    Binary(BinaryItems),
}

/// What the method returned.
#[derive(Clone, Debug)]
pub struct MethodValue {
    /// The text of the graph, which is rooted at the method's output type.
    pub graph: String,
    /// The text of the value in its normal form.
    pub value: String,
    /// Its streams.
    pub streams: Vec<Stream>,
}

/// An attempt that was accepted; everything in it is durable.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The attempt.
    pub attempt: Uuid,
    /// The key of the invocation.
    pub idempotency_key: String,
    /// For the next attach.
    pub session_token: String,
    /// Every stream of the session.
    pub streams: Vec<Stream>,
}

/// What happens to a connection, besides what its client says.
#[derive(Clone, Debug)]
pub enum Event {
    /// The first message was accepted.
    Accepted(Acceptance),
    /// It was refused; whether a new attempt may succeed.
    Refused(Refusal, bool),
    /// An item of an input is durable, or was found to be a repetition.
    Stored {
        /// The input.
        stream: Uuid,
        /// The sequence that follows the item.
        through: u64,
        /// The streams that it introduced.
        streams: Vec<Stream>,
    },
    /// The end of an input is durable.
    EndStored {
        /// The input.
        stream: Uuid,
    },
    /// A cancel by the client is durable.
    CancelStored {
        /// The input.
        stream: Uuid,
        /// Why it was cancelled.
        reason: ClientReason,
    },
    /// What the client sent contradicts what is durable, or goes beyond a limit of the session.
    Contradiction(Refusal),
    /// The agent has no use for an input any more, and that is durable.
    InputDropped {
        /// The input.
        stream: Uuid,
        /// Why.
        reason: ServerReason,
    },
    /// An item of an output is durable.
    Output {
        /// The output.
        stream: Uuid,
        /// Its index, or that of its first byte.
        sequence: u64,
        /// Stands for it, or for its last byte.
        cursor: String,
        /// The item.
        item: OutputItem,
    },
    /// An output has ended, and that is durable.
    OutputEnded {
        /// The output.
        stream: Uuid,
        /// How many items it had.
        sequence: u64,
        /// Stands for the end.
        cursor: Option<String>,
        /// How it ended.
        outcome: OutputOutcome,
    },
    /// The method returned; `None` if it has no output type.
    Returned(Option<MethodValue>),
    /// Everything has ended.
    Finished(InvocationOutcome),
    /// The agent was deleted, and with it the session; its outputs have ended. This is how its invocation came out.
    Deleted(InvocationOutcome),
    /// The session is detached, durably.
    Detached,
    /// Another connection has the session.
    Replaced,
    /// The server stops.
    Draining,
    /// The transport is gone.
    Lost,
    /// The connection cannot go on.
    Cut(Cut),
}

/// Why a connection cannot go on, although its transport is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A message is larger than [`MESSAGE_BYTES`](crate::limits::MESSAGE_BYTES).
    TooLarge,
    /// What comes is not WebSocket, or no first message has come in time (H2, H7).
    Protocol,
    /// It is stuck, or the server cannot serve it (L6).
    Failed,
}

/// What the driver is to do, in order.
#[derive(Clone, Debug)]
pub enum Action<'t> {
    /// Find out whether an invocation may start.
    Start(Box<Start<'t>>),
    /// Find out whether the client may go on with a session.
    Attach(Attach),
    /// Send a text message.
    Send(String),
    /// Send a binary message: what comes before its payload, and the payload.
    SendBinary(Vec<u8>, Bytes),
    /// Make an item durable and tell [`Event::Stored`], in the order of the actions of one stream.
    Store {
        /// The input.
        stream: Uuid,
        /// Its index, or that of its first byte.
        sequence: u64,
        /// The item.
        item: InputItem,
    },
    /// Find out whether exactly this item is durable at this place, and tell [`Event::Stored`] or
    /// [`Event::Contradiction`].
    Compare {
        /// The input.
        stream: Uuid,
        /// Its index, or that of its first byte.
        sequence: u64,
        /// The item.
        item: InputItem,
    },
    /// Make the end of an input durable and tell [`Event::EndStored`].
    End {
        /// The input.
        stream: Uuid,
        /// How many items it had.
        sequence: u64,
    },
    /// Make a cancel durable and tell [`Event::CancelStored`].
    CancelInput {
        /// The input.
        stream: Uuid,
        /// Why.
        reason: ClientReason,
    },
    /// Tell the producer of an output that it is of no use any more.
    CancelOutput {
        /// The output.
        stream: Uuid,
        /// Why.
        reason: ClientReason,
    },
    /// Detach the session durably and tell [`Event::Detached`].
    Detach,
    /// Close with this code; nothing is read or sent any more.
    Close(u16),
}

impl Element {
    /// Items of type `of`, which is defined in `graph`.
    #[must_use]
    pub fn new(graph: Arc<Graph>, of: Type) -> Self {
        Self { lane: graph.lane(&of), graph, of }
    }
}

impl Stream {
    /// Which way it goes.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.way {
            StreamWay::Input { .. } => Role::Input,
            StreamWay::Output => Role::Output,
        }
    }
}
