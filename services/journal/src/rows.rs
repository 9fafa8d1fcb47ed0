//! The values of the journal's rows. All are protobuf, so that a later version can add fields. Of the rows that are
//! rewritten, head, registration and those of invocations keep the fields that this version does not know.

mod deletion;
mod harness;
mod head;
mod import;
mod instance;
mod invocation;
mod kept;
mod node;
mod session;
mod stream;
mod unknown;

use prost::Message;
use uuid::Uuid;

pub(crate) use deletion::{RemovalRow, TombstoneRow};
pub(crate) use harness::{HarnessRow, HarnessState, ReservedRow};
pub(crate) use head::{Head, WriterToken};
pub(crate) use import::ImportRow;
pub(crate) use instance::{InstanceOfRow, InstanceRow, QueueEndRow, QueuedRow, RunnerRow};
pub(crate) use invocation::{
    AttachmentRow, AttemptOfRow, AttemptRow, EntryRow, OutcomeRow, ProgressRow, ReturnedRow, StartRow,
};
pub(crate) use kept::{Kept, Shared};
pub(crate) use node::{BeatRow, TokenKeyRow};
pub(crate) use session::{Segment, SessionRow};
pub(crate) use stream::{
    BinaryRow, DeliveredRow, FrameRow, FramesRow, HandedRow, ItemKind, StreamCountRow, StreamErrorRow, StreamRow,
    StreamStateRow, TerminalKind, TerminalRow, WishRow,
};
pub(crate) use unknown::unknown_fields;

use crate::error::Corrupt;

/// The row that says which layout the journal has.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FormatRow {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
    /// The oldest version that can work with what is in the journal; 0 in journals from before there were two.
    #[prost(uint32, tag = "2")]
    pub(crate) minimum: u32,
}

/// Decodes a row of the kind that `what` names.
pub(crate) fn decode<R: Message + Default>(what: &'static str, value: &[u8]) -> Result<R, Corrupt> {
    R::decode(value).map_err(|_| Corrupt { what })
}

/// A content hash as rows hold it; empty stands for none.
pub(crate) fn decode_hash(what: &'static str, bytes: &[u8]) -> Result<Option<wire::ContentHash>, Corrupt> {
    match bytes {
        [] => Ok(None),
        _ => bytes.try_into().map(wire::ContentHash::from_bytes).map(Some).map_err(|_| Corrupt { what }),
    }
}

/// A UUID as rows hold it.
pub(crate) fn decode_uuid(what: &'static str, bytes: &[u8]) -> Result<Uuid, Corrupt> {
    Uuid::from_slice(bytes).map_err(|_| Corrupt { what })
}

/// A UUID as rows hold it, if there is one.
pub(crate) fn decode_optional_uuid(what: &'static str, bytes: &[u8]) -> Result<Option<Uuid>, Corrupt> {
    if bytes.is_empty() { Ok(None) } else { decode_uuid(what, bytes).map(Some) }
}

/// A digest as rows hold it.
pub(crate) fn decode_digest(what: &'static str, bytes: &[u8]) -> Result<[u8; 32], Corrupt> {
    bytes.try_into().map_err(|_| Corrupt { what })
}
