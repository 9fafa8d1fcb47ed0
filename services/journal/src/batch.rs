//! Record batches: the events of one append in one value where they fit, and the reverse.
//!
//! A value is a length-delimited header, the content hashes, the length-delimited projection before the first record, and
//! the length-delimited events. Events that do not fit into one value begin another batch; an event that does not fit
//! into a value of its own is a batch divided into pieces.

mod assemble;
mod pack;

use std::mem;
use std::ops::Range;

use bytes::Bytes;
use prost::Message;
use wire::{ContentHash, Event, LogRecord};

pub(crate) use assemble::Assembler;
pub(crate) use pack::Packer;

use crate::error::Corrupt;
use crate::rows::WriterToken;
use crate::{Fence, Projection, Seq};

const HASH_BYTES: usize = 32;
const CORRUPT: Corrupt = Corrupt { what: "record batch" };

/// What a value begins with.
#[derive(Clone, Copy, PartialEq, Message)]
struct HeaderRow {
    #[prost(uint64, tag = "1")]
    fence: u64,
    #[prost(fixed64, tag = "2")]
    writer: u64,
    /// How many records there are.
    #[prost(uint32, tag = "3")]
    records: u32,
}

/// Consecutive records under one fence.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    first: Seq,
    header: HeaderRow,
    value: Bytes,
    /// Where the hashes are in `value`.
    hashes: Range<usize>,
}

impl Batch {
    /// Reads a whole batch, or the first piece of a divided one as far as its header and its hashes are concerned.
    pub(crate) fn decode(first: Seq, value: Bytes) -> Result<Self, Corrupt> {
        let mut rest = &value[..];
        let header = HeaderRow::decode_length_delimited(&mut rest).map_err(|_| CORRUPT)?;
        let start = value.len() - rest.len();
        let size = HASH_BYTES * header.records as usize;
        if size == 0 || size > rest.len() {
            return Err(CORRUPT);
        }
        Ok(Self { first, header, value, hashes: start..start + size })
    }

    /// The seq of the first record.
    pub(crate) fn first(&self) -> Seq {
        self.first
    }

    /// The seq of the last record.
    pub(crate) fn last(&self) -> Seq {
        self.first.plus(self.len() - 1)
    }

    /// Whether `writer` appended it.
    pub(crate) fn is_by(&self, writer: WriterToken) -> bool {
        self.header.writer == writer.get()
    }

    /// The content hash of a record of the batch.
    pub(crate) fn hash(&self, seq: Seq) -> Option<ContentHash> {
        let index = usize::try_from(seq.get().checked_sub(self.first.get())?).ok()?;
        self.hashes().get(index).copied().map(ContentHash::from_bytes)
    }

    /// How many records there are; at least one.
    pub(crate) fn len(&self) -> usize {
        self.header.records as usize
    }

    fn hashes(&self) -> &[[u8; HASH_BYTES]] {
        self.value[self.hashes.clone()].as_chunks().0
    }

    /// The projection of the log up to `seq`, a record of the batch.
    pub(crate) fn projection_at(&self, seq: Seq) -> Result<Projection, Corrupt> {
        let mut events = &self.value[self.hashes.end..];
        let mut projection = Projection::decode_length_delimited(&mut events).map_err(|_| CORRUPT)?;
        let mut at = self.first;
        while at <= seq {
            projection.apply(at, &next_event(&mut events)?);
            at = at.next();
        }
        Ok(projection)
    }

    /// Adds the records from `from` to `to`, as read through `view`, to `records`.
    pub(crate) fn read(
        &self,
        from: Seq,
        to: Seq,
        view: &mut View,
        records: &mut Vec<LogRecord>,
    ) -> Result<(), Corrupt> {
        let fence = if view.inherited { Fence::FIRST } else { Fence::stored(self.header.fence) }.to_wire();
        let mut events = &self.value[self.hashes.end..];
        skip(&mut events)?;
        let mut seq = self.first;
        for hash in self.hashes() {
            if seq > to {
                break;
            }
            let content_hash = ContentHash::from_bytes(*hash).hex();
            let prev_hash = mem::replace(&mut view.prev_hash, content_hash.clone());
            if seq < from {
                skip(&mut events)?;
            } else {
                let event = Some(next_event(&mut events)?);
                records.push(LogRecord { seq: seq.to_wire(), prev_hash, content_hash, fence, event });
            }
            seq = seq.next();
        }
        Ok(())
    }
}

/// What a record takes from its surroundings when it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The hash of the record before the next one, in hex; empty before the first.
    pub(crate) prev_hash: String,
    /// The record was written by an ancestor.
    pub(crate) inherited: bool,
}

fn next_event(events: &mut &[u8]) -> Result<Event, Corrupt> {
    Event::decode_length_delimited(events).map_err(|_| CORRUPT)
}

fn skip(messages: &mut &[u8]) -> Result<(), Corrupt> {
    let size = prost::decode_length_delimiter(&mut *messages).map_err(|_| CORRUPT)?;
    *messages = messages.get(size..).ok_or(CORRUPT)?;
    Ok(())
}

#[cfg(test)]
mod tests;
