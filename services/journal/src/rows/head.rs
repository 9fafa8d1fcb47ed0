//! The head of a session: what every append reads and moves.

use bytes::Bytes;
use prost::Message;
use wire::ContentHash;

use super::{decode, decode_hash, unknown_fields};
use crate::error::Corrupt;
use crate::{Fence, Incarnation, PendingApproval, Projection, Seq};

/// Tells one writer from all others, whatever fence they believe to hold: by it a mint or an append whose commit went
/// unanswered recognises itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriterToken(u64);

impl WriterToken {
    /// Who holds the first fences of a session, which nobody minted.
    pub(crate) const NOBODY: Self = Self(0);

    pub(crate) fn mint(env: &env::Env) -> Self {
        Self(env.random_u64())
    }

    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

/// The end of a log, and who may append to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) last_seq: Seq,
    /// The content hash at `last_seq`.
    pub(crate) hash: Option<ContentHash>,
    /// The highest fence minted.
    pub(crate) fence: Fence,
    /// Who minted it.
    pub(crate) writer: WriterToken,
    /// The run of a node that this writer belongs to. A hint for other nodes.
    pub(crate) owner: Option<Incarnation>,
    /// Unix nanoseconds.
    pub(crate) update_time: i64,
    pub(crate) projection: Projection,
    /// When the session began to wait for the approval that its projection tells of, in Unix nanoseconds: its place in
    /// the listing of those that wait. `None` where it is not listed.
    pub(crate) pending_since: Option<i64>,
    /// Fields that only a later version knows, encoded. Kept by every append.
    pub(crate) unknown: Vec<u8>,
}

impl Head {
    /// The head of a session that was just created.
    pub(crate) fn empty(now: i64) -> Self {
        Self {
            last_seq: Seq::ZERO,
            hash: None,
            fence: Fence::default(),
            writer: WriterToken::NOBODY,
            owner: None,
            update_time: now,
            projection: Projection::default(),
            pending_since: None,
            unknown: Vec::new(),
        }
    }

    /// Notes the pending approval after an append to a log at which `before` was pending.
    pub(crate) fn note_pending(&mut self, before: Option<&PendingApproval>) {
        let after = self.projection.pending_approval();
        self.pending_since = match &after {
            None => None,
            Some(_) if after.as_ref() == before => self.pending_since,
            Some(_) => Some(self.update_time),
        };
    }

    /// The same head under the next fence.
    pub(crate) fn minted(&self, writer: WriterToken, owner: Incarnation, now: i64) -> Self {
        Self { fence: self.fence.next(), writer, owner: Some(owner), update_time: now, ..self.clone() }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut encoded = HeadRow {
            last_seq: self.last_seq.get(),
            hash: self.hash.map_or_else(Vec::new, |hash| hash.as_bytes().to_vec()),
            fence: self.fence.get(),
            writer: self.writer.get(),
            update_time: self.update_time,
            projection: Some(self.projection.clone()),
            pending_since: self.pending_since,
            owner: self.owner.map_or(0, Incarnation::number),
        }
        .encode_to_vec();
        encoded.extend_from_slice(&self.unknown);
        encoded.into()
    }

    pub(crate) fn decode(value: &[u8]) -> Result<Self, Corrupt> {
        let row: HeadRow = decode("head", value)?;
        Ok(Self {
            last_seq: Seq::stored(row.last_seq),
            hash: decode_hash("head", &row.hash)?,
            fence: Fence::stored(row.fence),
            writer: WriterToken(row.writer),
            update_time: row.update_time,
            projection: row.projection.unwrap_or_default(),
            pending_since: row.pending_since,
            owner: Incarnation::from_number(row.owner),
            unknown: unknown_fields("head", value, &HeadRow::TAGS)?,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
struct HeadRow {
    #[prost(uint64, tag = "1")]
    last_seq: u64,
    #[prost(bytes = "vec", tag = "2")]
    hash: Vec<u8>,
    #[prost(uint64, tag = "3")]
    fence: u64,
    #[prost(fixed64, tag = "4")]
    writer: u64,
    #[prost(int64, tag = "5")]
    update_time: i64,
    #[prost(message, optional, tag = "6")]
    projection: Option<Projection>,
    #[prost(int64, optional, tag = "7")]
    pending_since: Option<i64>,
    #[prost(fixed64, tag = "8")]
    owner: u64,
}

impl HeadRow {
    const TAGS: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_version_has_added_survives_being_written_by_this_one() {
        let known = Head { last_seq: Seq::stored(7), pending_since: Some(1), ..Head::empty(5) };
        // Field 1000 with the text `new`.
        let added = [0xc2, 0x3e, 0x03, b'n', b'e', b'w'];
        let stored = [&known.encode()[..], &added].concat();
        let read = Head::decode(&stored).unwrap();
        assert_eq!(Head { unknown: Vec::new(), ..read.clone() }, known);
        let written = read.minted(WriterToken(1), Incarnation::from_number(2).unwrap(), 6).encode();
        assert!(written.ends_with(&added));
        assert_eq!(Head::decode(&written).unwrap().unknown, added);
    }

    #[test]
    fn every_field_of_this_version_is_known() {
        let owner = Incarnation::from_number(u64::MAX).unwrap();
        let hash = Some(ContentHash::from_bytes([9; 32]));
        let full = Head { last_seq: Seq::stored(7), hash, pending_since: Some(1), ..Head::empty(5) };
        let full = full.minted(WriterToken(u64::MAX), owner, 5);
        assert_eq!(Head::decode(&full.encode()), Ok(full));
    }

    #[test]
    fn heads_read_back() {
        let head = Head {
            last_seq: Seq::stored(7),
            hash: Some(ContentHash::from_bytes([9; 32])),
            fence: Fence::stored(3),
            pending_since: Some(0),
            ..Head::empty(1_700_000_000_000_000_000)
        };
        let owner = Incarnation::from_number(u64::MAX).unwrap();
        let minted = head.minted(WriterToken(u64::MAX), owner, 5);
        assert_eq!(Head::decode(&head.encode()), Ok(head));
        assert_eq!(minted.fence, Fence::stored(4));
        assert_eq!(Head::decode(&minted.encode()), Ok(minted));
    }

    #[test]
    fn a_head_that_cannot_be_decoded_is_corrupt_and_not_empty() {
        assert!(Head::decode(&[0x12, 0x01, 0x00]).is_err(), "a hash of one byte");
        assert!(Head::decode(&[0xff]).is_err(), "no protobuf");
    }
}
