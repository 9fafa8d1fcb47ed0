//! What nodes tell of themselves, and share.

use prost::Message;

use super::Shared;

/// A sign of life. The run of the node is in the key.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BeatRow {
    /// Rises with every sign.
    #[prost(uint64, tag = "1")]
    pub(crate) beat: u64,
    /// The node, for people.
    #[prost(string, tag = "2")]
    pub(crate) name: String,
}

impl Shared for BeatRow {
    const WHAT: &'static str = "heartbeat";
    const TAGS: &'static [u32] = &[1, 2];
}

/// A key that tokens are signed with, made by the first host that needed one. Never changes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TokenKeyRow {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) secret: Vec<u8>,
}
