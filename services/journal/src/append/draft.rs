//! An append, ready to be written.

use std::mem;

use bytes::Bytes;
use store::{KeyValue, TransactError, Transaction};
use wire::{ContentHash, Event, Hasher, LogRecord};

use crate::batch::{Batch, Packer};
use crate::error::{AppendError, Corrupt, TooLarge, refuse};
use crate::keys::SessionKeys;
use crate::projection::MAX_ID_BYTES;
use crate::rows::Head;
use crate::sessions::Relisted;
use crate::{Fence, Projection, Seq};

/// The rows of an append, and the head that it leads to. A function of the head before it and of the events alone, so
/// that it stays right while the head does.
#[derive(Debug)]
pub(crate) struct Draft {
    before: Position,
    rows: Vec<KeyValue>,
    hashes: Vec<ContentHash>,
    head: Head,
    head_row: KeyValue,
    /// The session's place among those that wait for an approval, if it changes.
    relisted: Option<Box<Relisted>>,
}

#[derive(Debug)]
struct Position {
    last_seq: Seq,
    hash: Option<ContentHash>,
}

impl Draft {
    /// Hashes `events`, which must be normalised, and lays them out after `head`, under its fence.
    pub(crate) fn prepare(keys: &SessionKeys, head: &Head, events: &[Event], now: i64) -> Result<Self, AppendError> {
        let mut hasher = Hasher::default();
        let mut hashes: Vec<ContentHash> = Vec::with_capacity(events.len());
        let mut seq = head.last_seq;
        for event in events {
            check_id(event)?;
            seq = seq.next();
            let previous = hashes.last().or(head.hash.as_ref());
            hashes.push(hasher.content_hash(event, seq.get(), previous)?);
        }
        Ok(Self::lay_out(keys, &Head { update_time: now, ..head.clone() }, events, hashes))
    }

    /// Lays out events whose content hashes are known.
    pub(crate) fn lay_out(keys: &SessionKeys, head: &Head, events: &[Event], hashes: Vec<ContentHash>) -> Self {
        let before = Position { last_seq: head.last_seq, hash: head.hash };
        let (pending, pending_since) = (head.projection.pending_approval(), head.pending_since);
        let mut head = head.clone();
        let mut packer = Packer::new(keys, head.fence, head.writer);
        for (event, hash) in events.iter().zip(&hashes) {
            head.last_seq = head.last_seq.next();
            packer.push(head.last_seq, hash, event, &head.projection);
            head.projection.apply(head.last_seq, event);
            head.hash = Some(*hash);
        }
        head.note_pending(pending.as_ref());
        let head_row = KeyValue { key: keys.head(), value: head.encode() };
        let relisted = Relisted::of(keys, pending_since, head.pending_since).map(Box::new);
        Self { before, rows: packer.finish(), hashes, head, head_row, relisted }
    }

    /// The head that the log must have.
    pub(crate) fn expected(&self) -> Seq {
        self.before.last_seq
    }

    /// The fence of the records.
    pub(crate) fn fence(&self) -> Fence {
        self.head.fence
    }

    /// The head that the log will have.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// [`head`](Self::head) as it will be stored.
    pub(crate) fn stored_head(&self) -> &Bytes {
        &self.head_row.value
    }

    pub(crate) fn head_key(&self) -> &Bytes {
        &self.head_row.key
    }

    /// Writes everything.
    pub(crate) async fn write<E: From<Corrupt>>(&self, transaction: &mut Transaction) -> Result<(), TransactError<E>> {
        for row in self.rows.iter().chain([&self.head_row]) {
            transaction.set(&row.key, &row.value);
        }
        match &self.relisted {
            Some(relisted) => relisted.write(transaction).await,
            None => Ok(()),
        }
    }

    /// The rows of the records, and the head, for a log that is laid out in several steps.
    pub(crate) fn into_parts(self) -> (Vec<KeyValue>, Head) {
        (self.rows, self.head)
    }

    /// Whether the log holds this very append, however much has been appended since.
    pub(crate) async fn is_recorded(&self, transaction: &mut Transaction) -> Result<bool, TransactError<AppendError>> {
        let Some(first_row) = self.rows.first() else { return Ok(false) };
        let Some(value) = transaction.get(&first_row.key).await? else { return Ok(false) };
        let first = self.before.last_seq.next();
        let batch = Batch::decode(first, value).map_err(refuse)?;
        Ok(batch.is_by(self.head.writer) && batch.hash(first).as_ref() == self.hashes.first())
    }

    /// The records; `events` are those that the draft was prepared from.
    pub(crate) fn records(&self, events: Vec<Event>) -> Vec<LogRecord> {
        let mut seq = self.before.last_seq;
        let mut prev_hash = self.before.hash.map_or_else(String::new, |hash| hash.hex());
        let record = |(event, hash): (Event, &ContentHash)| {
            seq = seq.next();
            let content_hash = hash.hex();
            let prev_hash = mem::replace(&mut prev_hash, content_hash.clone());
            let fence = self.head.fence.to_wire();
            LogRecord { seq: seq.to_wire(), prev_hash, content_hash, fence, event: Some(event) }
        };
        events.into_iter().zip(&self.hashes).map(record).collect()
    }
}

fn check_id(event: &Event) -> Result<(), TooLarge> {
    match Projection::oversized_id(event) {
        Some(size) => Err(TooLarge { what: "id", size, limit: MAX_ID_BYTES }),
        None => Ok(()),
    }
}
