//! What is left of a deleted session, and what is still to be done about it.

use prost::Message;

use super::Segment;

/// The audit record of a deletion. Never removed. Its session's uid is in the key.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TombstoneRow {
    #[prost(string, tag = "1")]
    pub(crate) project: String,
    /// The last record that the session had.
    #[prost(uint64, tag = "2")]
    pub(crate) last_seq: u64,
    /// The content hash of that record; empty if there was none.
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) hash: Vec<u8>,
    /// Unix nanoseconds, as is the other time.
    #[prost(int64, tag = "4")]
    pub(crate) create_time: i64,
    #[prost(int64, tag = "5")]
    pub(crate) delete_time: i64,
    #[prost(message, optional, tag = "6")]
    pub(crate) identity: Option<wire::IdentityRef>,
    #[prost(string, tag = "7")]
    pub(crate) reason: String,
    #[prost(string, tag = "8")]
    pub(crate) request_id: String,
}

/// A deletion whose records are not all removed yet.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RemovalRow {
    /// The ancestors whose records the session read.
    #[prost(message, repeated, tag = "1")]
    pub(crate) lineage: Vec<Segment>,
}
