//! The values of the journal's rows. All are protobuf, so that a later version can add fields. Of the rows that are
//! rewritten, head and registration keep the fields that this version does not know.

mod deletion;
mod harness;
mod head;
mod import;
mod session;
mod unknown;

use prost::Message;

pub(crate) use deletion::{RemovalRow, TombstoneRow};
pub(crate) use harness::{HarnessRow, HarnessState, ReservedRow};
pub(crate) use head::{Head, WriterToken};
pub(crate) use import::ImportRow;
pub(crate) use session::{Segment, SessionRow};
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
