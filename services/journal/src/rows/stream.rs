//! The streams of an invocation.

use bytes::Bytes;
use prost::{Message, Oneof};

use super::Shared;

/// What a stream is. Never changes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamRow {
    /// UUID by which the client named an input; empty for an output.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) provisional: Vec<u8>,
    /// What the stream is part of.
    #[prost(string, tag = "2")]
    pub(crate) owner: String,
    /// The type of its items, as JSON.
    #[prost(string, tag = "3")]
    pub(crate) element: String,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) fingerprint: Vec<u8>,
}

/// How far a stream has come.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamStateRow {
    /// To the client.
    #[prost(bool, tag = "1")]
    pub(crate) output: bool,
    /// How many items there are.
    #[prost(uint64, tag = "2")]
    pub(crate) next: u64,
    #[prost(message, optional, tag = "3")]
    pub(crate) terminal: Option<TerminalRow>,
    /// Drawn by whoever wrote this: by it a put whose commit went unanswered recognises itself.
    #[prost(fixed64, tag = "4")]
    pub(crate) mark: u64,
    /// Set while there may be pieces of a frame from `next` on that is not complete: the mark of the put that it is
    /// part of.
    #[prost(fixed64, tag = "5")]
    pub(crate) staged: u64,
    /// How many frames there are.
    #[prost(uint64, tag = "6")]
    pub(crate) entries: u64,
    /// What they are charged, all together; 0 of an output.
    #[prost(uint64, tag = "7")]
    pub(crate) charge: u64,
}

impl Shared for StreamStateRow {
    const WHAT: &'static str = "stream state";
    const TAGS: &'static [u32] = &[1, 2, 3, 4, 5, 6, 7];
}

/// How a stream ended.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TerminalRow {
    #[prost(oneof = "TerminalKind", tags = "1, 2, 3, 4")]
    pub(crate) kind: Option<TerminalKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum TerminalKind {
    #[prost(bool, tag = "1")]
    Ended(bool),
    #[prost(message, tag = "2")]
    Error(StreamErrorRow),
    /// Why.
    #[prost(string, tag = "3")]
    CancelledByClient(String),
    /// Why.
    #[prost(string, tag = "4")]
    CancelledByServer(String),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamErrorRow {
    #[prost(string, tag = "1")]
    pub(crate) code: String,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

/// How many streams an invocation has, those that have ended included.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamCountRow {
    #[prost(uint32, tag = "1")]
    pub(crate) streams: u32,
}

impl Shared for StreamCountRow {
    const WHAT: &'static str = "stream count";
    const TAGS: &'static [u32] = &[1];
}

/// The client has no use for an output any more.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WishRow {
    #[prost(string, tag = "1")]
    pub(crate) reason: String,
}

/// How much of an input the agent was handed. Shares its key with [`WishRow`], and no tag, so that a host that does not know
/// it reads nothing in it.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct HandedRow {
    #[prost(uint64, tag = "2")]
    pub(crate) entries: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) charge: u64,
}

/// How much of an output the client has.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeliveredRow {
    #[prost(uint64, tag = "1")]
    pub(crate) position: u64,
}

/// Frames that follow each other in one stream; the sequence of the first is in the key.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FramesRow {
    #[prost(message, repeated, tag = "1")]
    pub(crate) frames: Vec<FrameRow>,
}

/// What was sent at once.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FrameRow {
    #[prost(oneof = "ItemKind", tags = "1, 2, 3")]
    pub(crate) item: Option<ItemKind>,
    /// UUIDs of the streams that it introduced.
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(crate) streams: Vec<Vec<u8>>,
    /// What it counts in the queue of an input; 0 of an output.
    #[prost(uint64, tag = "5")]
    pub(crate) charge: u64,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ItemKind {
    #[prost(string, tag = "1")]
    Value(String),
    /// Each byte is an item.
    #[prost(bytes = "bytes", tag = "2")]
    Octets(Bytes),
    #[prost(message, tag = "3")]
    Binary(BinaryRow),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BinaryRow {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) data: Bytes,
    #[prost(string, optional, tag = "2")]
    pub(crate) mime: Option<String>,
}
