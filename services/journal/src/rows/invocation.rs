//! An invocation: what it was started with, who is attached to it, how far it has come.

use prost::Message;

use super::Shared;

/// What an invocation was started with. Never changes. Texts of values are in normal form.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StartRow {
    #[prost(string, tag = "1")]
    pub(crate) application: String,
    #[prost(string, tag = "2")]
    pub(crate) environment: String,
    #[prost(string, tag = "3")]
    pub(crate) agent_type: String,
    #[prost(string, tag = "4")]
    pub(crate) method: String,
    #[prost(string, tag = "5")]
    pub(crate) constructor_parameters: String,
    /// UUID; empty if there is none.
    #[prost(bytes = "vec", tag = "6")]
    pub(crate) phantom_id: Vec<u8>,
    #[prost(string, tag = "7")]
    pub(crate) idempotency_key: String,
    #[prost(string, tag = "8")]
    pub(crate) method_parameters: String,
    #[prost(message, repeated, tag = "9")]
    pub(crate) configuration: Vec<EntryRow>,
    #[prost(string, tag = "10")]
    pub(crate) parameters_schema: String,
    #[prost(string, tag = "11")]
    pub(crate) result_schema: String,
    #[prost(string, tag = "12")]
    pub(crate) account: String,
    #[prost(string, tag = "13")]
    pub(crate) principal: String,
    /// Unix seconds.
    #[prost(uint64, tag = "14")]
    pub(crate) issued_at: u64,
    #[prost(string, tag = "15")]
    pub(crate) stream_key_id: String,
    /// UUID.
    #[prost(bytes = "vec", tag = "16")]
    pub(crate) component: Vec<u8>,
    #[prost(uint64, tag = "17")]
    pub(crate) revision: u64,
    #[prost(string, tag = "18")]
    pub(crate) agent_id: String,
    /// UUID of the attempt that started it.
    #[prost(bytes = "vec", tag = "19")]
    pub(crate) attempt: Vec<u8>,
}

/// A setting that the client gave.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EntryRow {
    #[prost(string, repeated, tag = "1")]
    pub(crate) path: Vec<String>,
    /// JSON.
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// The right of one connection to drive an invocation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttachmentRow {
    /// UUID, another one for each attach.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub(crate) generation: u64,
    /// The run of the node that has the connection; 0 if detached.
    #[prost(fixed64, tag = "3")]
    pub(crate) node: u64,
    /// The connection.
    #[prost(fixed64, tag = "4")]
    pub(crate) holder: u64,
}

impl Shared for AttachmentRow {
    const WHAT: &'static str = "attachment";
    const TAGS: &'static [u32] = &[1, 2, 3, 4];
}

/// How far an invocation has come.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProgressRow {
    /// Set when the method has returned.
    #[prost(message, optional, tag = "1")]
    pub(crate) returned: Option<ReturnedRow>,
    /// Set when everything has ended.
    #[prost(message, optional, tag = "2")]
    pub(crate) outcome: Option<OutcomeRow>,
    /// When that was, in Unix seconds.
    #[prost(uint64, tag = "3")]
    pub(crate) finish_time: u64,
    /// Its place in the queue.
    #[prost(uint64, tag = "4")]
    pub(crate) order: u64,
}

impl Shared for ProgressRow {
    const WHAT: &'static str = "progress";
    const TAGS: &'static [u32] = &[1, 2, 3, 4];
}

/// What a method returned. Its value has rows of its own.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct ReturnedRow {
    /// Whether there is a value.
    #[prost(bool, tag = "1")]
    pub(crate) value: bool,
    /// The number of streams in it.
    #[prost(uint32, tag = "2")]
    pub(crate) streams: u32,
}

/// How an invocation ended.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OutcomeRow {
    /// Empty for success.
    #[prost(string, tag = "1")]
    pub(crate) code: String,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

/// What was accepted as an attempt. Never changes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttemptRow {
    #[prost(string, tag = "1")]
    pub(crate) session: String,
    /// UUID, as is the attachment.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) invocation: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) digest: Vec<u8>,
    /// Whether it started the invocation.
    #[prost(bool, tag = "4")]
    pub(crate) start: bool,
    /// The attachment that it made.
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) attachment: Vec<u8>,
}

/// An attempt of an invocation; its id is in the key.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttemptOfRow {
    #[prost(string, tag = "1")]
    pub(crate) account: String,
}
