//! Rows that are written again and again, by hosts of several versions.

use prost::Message;
use store::{TransactError, Transaction};

use super::{decode, unknown_fields};
use crate::error::{Corrupt, refuse};

/// A row of which this version may not know every field.
pub(crate) trait Shared: Message + Default {
    /// The kind of row.
    const WHAT: &'static str;
    /// The fields that this version knows.
    const TAGS: &'static [u32];
}

/// A row and the fields that only a later version knows, which are written again with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept<R> {
    pub(crate) row: R,
    unknown: Vec<u8>,
}

impl<R: Shared> Kept<R> {
    pub(crate) fn new(row: R) -> Self {
        Self { row, unknown: Vec::new() }
    }

    /// The row of `key`, read so that it conflicts.
    pub(crate) async fn read<E: From<Corrupt>>(
        transaction: &mut Transaction,
        key: &[u8],
    ) -> Result<Option<Self>, TransactError<E>> {
        let value = transaction.get(key).await?;
        value.map(|value| Self::decode(&value).map_err(refuse)).transpose()
    }

    pub(crate) fn write(&self, transaction: &mut Transaction, key: &[u8]) {
        transaction.set(key, &self.encode());
    }

    pub(crate) fn decode(value: &[u8]) -> Result<Self, Corrupt> {
        Ok(Self { row: decode(R::WHAT, value)?, unknown: unknown_fields(R::WHAT, value, R::TAGS)? })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut encoded = self.row.encode_to_vec();
        encoded.extend_from_slice(&self.unknown);
        encoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{AttachmentRow, BeatRow, ProgressRow, QueueEndRow, RunnerRow, StreamCountRow, StreamStateRow};

    fn keeps_what_it_does_not_know<R: Shared>() {
        // Field 1000 with the text `new`.
        let added = [0xc2, 0x3e, 0x03, b'n', b'e', b'w'];
        let read = Kept::<R>::decode(&added).unwrap();
        assert_eq!(read.encode(), added, "{}", R::WHAT);
    }

    #[test]
    fn what_a_later_version_has_added_survives_being_written_by_this_one() {
        keeps_what_it_does_not_know::<AttachmentRow>();
        keeps_what_it_does_not_know::<BeatRow>();
        keeps_what_it_does_not_know::<ProgressRow>();
        keeps_what_it_does_not_know::<QueueEndRow>();
        keeps_what_it_does_not_know::<RunnerRow>();
        keeps_what_it_does_not_know::<StreamCountRow>();
        keeps_what_it_does_not_know::<StreamStateRow>();
    }
}
