//! An agent instance: what makes a session one, who drives it, and what waits to be driven.

use prost::Message;

use super::Shared;

/// What makes a session an agent instance. Never changes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstanceRow {
    /// UUID drawn when the instance was made.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) incarnation: Vec<u8>,
    /// Digest of what names the instance.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) digest: Vec<u8>,
}

/// The session of an instance.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstanceOfRow {
    #[prost(string, tag = "1")]
    pub(crate) uid: String,
}

/// Who drives the queue of an instance.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RunnerRow {
    /// The run of a node; 0 if nobody does.
    #[prost(fixed64, tag = "1")]
    pub(crate) node: u64,
    /// Rises whenever somebody begins to drive it.
    #[prost(uint64, tag = "2")]
    pub(crate) epoch: u64,
}

impl Shared for RunnerRow {
    const WHAT: &'static str = "runner";
    const TAGS: &'static [u32] = &[1, 2];
}

/// A place in a queue.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct QueuedRow {
    /// UUID of the invocation.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) invocation: Vec<u8>,
}

/// Where a queue goes on.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct QueueEndRow {
    /// The place of the next invocation.
    #[prost(uint64, tag = "1")]
    pub(crate) next: u64,
}

impl Shared for QueueEndRow {
    const WHAT: &'static str = "queue";
    const TAGS: &'static [u32] = &[1];
}
