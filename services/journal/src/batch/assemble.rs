//! From rows to batches.

use store::KeyValue;

use super::{Batch, CORRUPT};
use crate::Seq;
use crate::error::Corrupt;
use crate::keys::BatchKey;
use crate::pieces::Joiner;

/// Puts the pieces of divided batches together again. Holds at most one batch.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    joiner: Joiner<Seq>,
}

impl Assembler {
    /// Takes the next row in key order; returns the batch that it completes.
    pub(crate) fn push(&mut self, row: KeyValue) -> Result<Option<Batch>, Corrupt> {
        let BatchKey { first, piece } = BatchKey::decode(&row.key).ok_or(CORRUPT)?;
        let value = self.joiner.push(first, piece, row.value).map_err(|_| CORRUPT)?;
        value.map(|value| Batch::decode(first, value)).transpose()
    }
}
