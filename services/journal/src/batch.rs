//! Record batches: the events of one append in one value where they fit, and the reverse.
//!
//! A value is a length-delimited header and then the length-delimited events. Events that do not fit into one value
//! begin another batch; an event that does not fit into a value of its own is a batch divided into pieces.

mod assemble;
mod pack;

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

/// Everything about a batch but its events.
#[derive(Clone, PartialEq, Message)]
struct HeaderRow {
    #[prost(uint64, tag = "1")]
    fence: u64,
    #[prost(fixed64, tag = "2")]
    writer: u64,
    /// An encoded [`Projection`]: the one before the first record, from which a fork inside of the batch starts.
    #[prost(bytes = "bytes", tag = "3")]
    before: Bytes,
    /// The content hashes, joined.
    #[prost(bytes = "bytes", tag = "4")]
    hashes: Bytes,
}

/// Consecutive records under one fence.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    first: Seq,
    header: HeaderRow,
    events: Bytes,
}

impl Batch {
    /// Reads a whole batch, or the first piece of a divided one as far as its header is concerned.
    pub(crate) fn decode(first: Seq, mut value: Bytes) -> Result<Self, Corrupt> {
        let header = HeaderRow::decode_length_delimited(&mut value).map_err(|_| CORRUPT)?;
        match header.hashes.len() {
            0 => Err(CORRUPT),
            size if size % HASH_BYTES != 0 => Err(CORRUPT),
            _ => Ok(Self { first, header, events: value }),
        }
    }

    /// The seq of the first record.
    pub(crate) fn first(&self) -> Seq {
        self.first
    }

    /// The seq of the last record.
    pub(crate) fn last(&self) -> Seq {
        self.first.plus(self.header.hashes.len() / HASH_BYTES - 1)
    }

    /// Whether `writer` appended it.
    pub(crate) fn is_by(&self, writer: WriterToken) -> bool {
        self.header.writer == writer.get()
    }

    /// The content hash of a record of the batch.
    pub(crate) fn hash(&self, seq: Seq) -> Option<ContentHash> {
        let index = usize::try_from(seq.get().checked_sub(self.first.get())?).ok()?;
        let hash = self.header.hashes.chunks_exact(HASH_BYTES).nth(index)?;
        hash.try_into().ok().map(ContentHash::from_bytes)
    }

    /// The projection of the log up to `seq`, a record of the batch.
    pub(crate) fn projection_at(&self, seq: Seq) -> Result<Projection, Corrupt> {
        let mut projection = Projection::decode(self.header.before.clone()).map_err(|_| CORRUPT)?;
        let mut events = self.events.clone();
        let mut at = self.first;
        while at <= seq {
            projection.apply(at, &next_event(&mut events)?);
            at = at.next();
        }
        Ok(projection)
    }

    /// The records from `from` to `to`, as read through `view`.
    pub(crate) fn records(mut self, from: Seq, to: Seq, view: &mut View) -> Result<Vec<LogRecord>, Corrupt> {
        let fence = if view.inherited { Fence::FIRST } else { Fence::stored(self.header.fence) };
        let mut records = Vec::with_capacity(self.header.hashes.len() / HASH_BYTES);
        let mut seq = self.first;
        for hash in self.header.hashes.chunks_exact(HASH_BYTES) {
            if seq > to {
                break;
            }
            let content_hash = hex::encode(hash);
            let prev_hash = std::mem::replace(&mut view.prev_hash, content_hash.clone());
            if seq < from {
                skip_event(&mut self.events)?;
            } else {
                let event = Some(next_event(&mut self.events)?);
                records.push(LogRecord { seq: seq.to_wire(), prev_hash, content_hash, fence: fence.to_wire(), event });
            }
            seq = seq.next();
        }
        Ok(records)
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

fn next_event(events: &mut Bytes) -> Result<Event, Corrupt> {
    Event::decode_length_delimited(events).map_err(|_| CORRUPT)
}

fn skip_event(events: &mut Bytes) -> Result<(), Corrupt> {
    let size = prost::decode_length_delimiter(&mut *events).map_err(|_| CORRUPT)?;
    if size > events.len() {
        return Err(CORRUPT);
    }
    drop(events.split_to(size));
    Ok(())
}

#[cfg(test)]
mod tests;
