//! What a session was created with. Never changes.

use std::collections::BTreeMap;

use prost::Message;

use crate::{Seq, SessionUid};

/// The metadata of a session.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionRow {
    #[prost(string, tag = "1")]
    pub(crate) project: String,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(string, tag = "3")]
    pub(crate) harness: String,
    #[prost(string, tag = "4")]
    pub(crate) model: String,
    #[prost(btree_map = "string, string", tag = "5")]
    pub(crate) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub(crate) annotations: BTreeMap<String, String>,
    #[prost(message, optional, tag = "7")]
    pub(crate) origin: Option<wire::Origin>,
    #[prost(message, optional, tag = "8")]
    pub(crate) identity: Option<wire::IdentityRef>,
    /// Unix nanoseconds.
    #[prost(int64, tag = "9")]
    pub(crate) create_time: i64,
    #[prost(string, tag = "10")]
    pub(crate) parent_uid: String,
    #[prost(uint64, tag = "11")]
    pub(crate) fork_seq: u64,
    /// Who holds the records that this session did not write itself, in seq order.
    #[prost(message, repeated, tag = "12")]
    pub(crate) lineage: Vec<Segment>,
}

/// A part of an inherited log: the ancestor's own records, up to one of them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Segment {
    #[prost(string, tag = "1")]
    uid: String,
    #[prost(uint64, tag = "2")]
    up_to: u64,
}

impl Segment {
    pub(crate) fn new(uid: &SessionUid, up_to: Seq) -> Self {
        Self { uid: uid.as_str().to_owned(), up_to: up_to.get() }
    }

    /// The ancestor, if the row holds a uid.
    pub(crate) fn uid(&self) -> Option<SessionUid> {
        SessionUid::parse(&self.uid).ok()
    }

    /// The last record that is inherited from it.
    pub(crate) fn up_to(&self) -> Seq {
        Seq::stored(self.up_to)
    }
}
