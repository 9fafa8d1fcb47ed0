//! Values that do not fit into one row.

use bytes::{Bytes, BytesMut};
use store::limits;

use crate::keys::Piece;

/// Divides a value into rows, each with its place among them; one that fits is one row without a place.
pub(crate) fn divide(value: Bytes) -> Vec<(Option<Piece>, Bytes)> {
    if value.len() <= limits::VALUE_BYTES {
        return vec![(None, value)];
    }
    let count = value.len().div_ceil(limits::VALUE_BYTES) as u64;
    let mut rest = value;
    let mut next = |index| (Some(Piece { index, count }), rest.split_to(rest.len().min(limits::VALUE_BYTES)));
    (0..count).map(&mut next).collect()
}

/// Puts the pieces of values together again, row by row in key order. Holds at most one value.
#[derive(Debug)]
pub(crate) struct Joiner<K> {
    partial: Option<Partial<K>>,
}

#[derive(Debug)]
struct Partial<K> {
    of: K,
    next: Piece,
    value: BytesMut,
}

/// A row that is not what must follow the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misplaced;

impl<K> Default for Joiner<K> {
    fn default() -> Self {
        Self { partial: None }
    }
}

impl<K: PartialEq + Copy> Joiner<K> {
    /// Takes the next row, of the value that `of` names; returns the value that it completes.
    pub(crate) fn push(&mut self, of: K, piece: Option<Piece>, part: Bytes) -> Result<Option<Bytes>, Misplaced> {
        match (self.partial.take(), piece) {
            (None, None) => Ok(Some(part)),
            (None, Some(piece)) if piece.index == 0 => Ok(self.extend(BytesMut::new(), of, piece, &part)),
            (Some(partial), Some(piece)) if partial.of == of && partial.next == piece => {
                Ok(self.extend(partial.value, of, piece, &part))
            }
            _ => Err(Misplaced),
        }
    }

    /// Whether a value has begun and is not complete.
    pub(crate) fn is_within(&self) -> bool {
        self.partial.is_some()
    }

    fn extend(&mut self, mut value: BytesMut, of: K, piece: Piece, part: &Bytes) -> Option<Bytes> {
        value.extend_from_slice(part);
        let next = Piece { index: piece.index + 1, ..piece };
        if next.index == next.count {
            return Some(value.freeze());
        }
        self.partial = Some(Partial { of, next, value });
        None
    }
}
