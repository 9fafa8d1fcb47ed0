//! From events to rows.

use bytes::Bytes;
use prost::Message;
use prost::length_delimiter_len;
use store::{KeyValue, limits};
use wire::{ContentHash, Event};

use super::{HASH_BYTES, HeaderRow};
use crate::keys::SessionKeys;
use crate::pieces::divide;
use crate::rows::WriterToken;
use crate::{Fence, Projection, Seq};

/// Most bytes of a header.
const HEADER_BYTES: usize = 32;

/// Collects the events of an append and divides them into the rows that hold them.
pub(crate) struct Packer<'a> {
    keys: &'a SessionKeys,
    fence: Fence,
    writer: WriterToken,
    open: Option<OpenBatch>,
    rows: Vec<KeyValue>,
}

struct OpenBatch {
    first: Seq,
    hashes: Vec<u8>,
    /// The projection before the first record, then the events.
    body: Vec<u8>,
}

impl<'a> Packer<'a> {
    /// Begins an append by `writer` under `fence`.
    pub(crate) fn new(keys: &'a SessionKeys, fence: Fence, writer: WriterToken) -> Self {
        Self { keys, fence, writer, open: None, rows: Vec::new() }
    }

    /// Adds the next record; `before` is the projection of the log that ends before it.
    pub(crate) fn push(&mut self, seq: Seq, hash: &ContentHash, event: &Event, before: &Projection) {
        if let Some(full) = self.open.take_if(|batch| !batch.has_room_for(event)) {
            self.close(&full);
        }
        let batch = self.open.get_or_insert_with(|| OpenBatch::begin(seq, before));
        batch.hashes.extend_from_slice(hash.as_bytes());
        event.encode_length_delimited(&mut batch.body).expect("invariant: a vector has room");
    }

    /// The rows, in key order.
    pub(crate) fn finish(mut self) -> Vec<KeyValue> {
        if let Some(last) = self.open.take() {
            self.close(&last);
        }
        self.rows
    }

    fn close(&mut self, batch: &OpenBatch) {
        let first = batch.first;
        let value = batch.encode(self.fence, self.writer);
        for (piece, value) in divide(value) {
            let key = piece.map_or_else(|| self.keys.batch(first), |piece| self.keys.piece(first, piece));
            self.rows.push(KeyValue { key, value });
        }
    }
}

impl OpenBatch {
    fn begin(first: Seq, before: &Projection) -> Self {
        Self { first, hashes: Vec::new(), body: before.encode_length_delimited_to_vec() }
    }

    fn has_room_for(&self, event: &Event) -> bool {
        let size = event.encoded_len();
        let added = HASH_BYTES + length_delimiter_len(size) + size;
        HEADER_BYTES + self.hashes.len() + self.body.len() + added <= limits::VALUE_BYTES
    }

    fn encode(&self, fence: Fence, writer: WriterToken) -> Bytes {
        let records = (self.hashes.len() / HASH_BYTES) as u32;
        let header = HeaderRow { fence: fence.get(), writer: writer.get(), records };
        [&header.encode_length_delimited_to_vec()[..], &self.hashes, &self.body].concat().into()
    }
}
