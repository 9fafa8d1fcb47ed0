//! The values of the journal's rows. All are protobuf, so that a later version can add fields.

mod deletion;
mod harness;
mod head;
mod import;
mod session;

use prost::Message;

pub(crate) use deletion::{RemovalRow, TombstoneRow};
pub(crate) use harness::{HarnessRow, HarnessState, ReservedRow};
pub(crate) use head::{Head, WriterToken};
pub(crate) use import::ImportRow;
pub(crate) use session::{Segment, SessionRow};

use crate::error::Corrupt;

/// The row that says which layout the journal has.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FormatRow {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
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
