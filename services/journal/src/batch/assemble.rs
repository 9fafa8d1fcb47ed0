//! From rows to batches.

use bytes::{Bytes, BytesMut};
use store::KeyValue;

use super::{Batch, CORRUPT};
use crate::error::Corrupt;
use crate::keys::{BatchKey, Piece};

/// Puts the pieces of divided batches together again. Holds at most one batch.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    partial: Option<Partial>,
}

#[derive(Debug)]
struct Partial {
    next: BatchKey,
    value: BytesMut,
}

impl Assembler {
    /// Takes the next row in key order; returns the batch that it completes.
    pub(crate) fn push(&mut self, row: KeyValue) -> Result<Option<Batch>, Corrupt> {
        let key = BatchKey::decode(&row.key).ok_or(CORRUPT)?;
        match (self.partial.take(), key.piece) {
            (None, None) => Batch::decode(key.first, row.value).map(Some),
            (None, Some(piece)) if piece.index == 0 => self.extend(BytesMut::new(), key, piece, &row.value),
            (Some(partial), Some(piece)) if partial.next == key => self.extend(partial.value, key, piece, &row.value),
            _ => Err(CORRUPT),
        }
    }

    fn extend(
        &mut self,
        mut value: BytesMut,
        key: BatchKey,
        piece: Piece,
        part: &Bytes,
    ) -> Result<Option<Batch>, Corrupt> {
        value.extend_from_slice(part);
        let index = piece.index + 1;
        if index == piece.count {
            return Batch::decode(key.first, value.freeze()).map(Some);
        }
        let next = BatchKey { piece: Some(Piece { index, ..piece }), ..key };
        self.partial = Some(Partial { next, value });
        Ok(None)
    }
}
