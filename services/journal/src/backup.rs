//! Reading a journal as a whole, for a copy that any engine can take: each part once, in the order of its key.
//!
//! The parts are read one after the other while the journal is in use. Each session is a prefix of its log as of one moment;
//! a fork made meanwhile may say more of its parent than was read of that.

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, TryStreamExt};
use store::{Isolation, KeyRange, KeyValue, RangeRead, TransactError, Transaction};
use wire::{ContentHash, LogRecord};

use crate::error::{Corrupt, JournalError, refuse};
use crate::import::{ForeignName, ForeignSession, Inheritance};
use crate::keys::{self, BatchKey, SessionKeys};
use crate::records::batch_of;
use crate::rows::{self, ReservedRow, Segment, TombstoneRow};
use crate::sessions::read_state;
use crate::{Journal, Seq, SeqRange, SessionUid};

const SESSION: Corrupt = Corrupt { what: "session" };

/// What a journal holds under a uid.
#[derive(Clone, Debug, PartialEq)]
pub enum Holding {
    /// A session.
    Session(Box<ForeignSession>, LogEnd),
    /// Records of a session that was deleted, which its forks go on reading.
    Remains(Box<Remains>),
    /// Nothing that anybody reads: what a deletion or an import has left for the moment.
    Nothing,
}

/// The last record of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// Where; [`Seq::ZERO`] for an empty log.
    pub seq: Seq,
    /// Its content hash, in hexadecimal; empty for an empty log.
    pub hash: String,
}

/// What is left of the log of a session that was deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct Remains {
    /// The session.
    pub uid: SessionUid,
    /// What comes before its own records.
    pub inheritance: Inheritance,
    /// The last of its own records that a fork reads.
    pub last: Seq,
    /// A fork that reads them.
    pub reader: SessionUid,
}

/// The audit record of a deletion, to be kept as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Buried {
    /// The session.
    pub uid: SessionUid,
    /// Encoded as in the journal.
    pub row: Bytes,
}

impl Buried {
    /// The audit record of `uid`, as it is encoded in a journal.
    ///
    /// # Errors
    /// [`Corrupt`], if it is none.
    pub fn new(uid: SessionUid, row: Vec<u8>) -> Result<Self, Corrupt> {
        rows::decode::<TombstoneRow>("deletion", &row)?;
        Ok(Self { uid, row: row.into() })
    }
}

impl Journal {
    /// The first uid after `after` under which there are rows; `None` after the last.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn next_holder(&self, after: Option<&SessionUid>) -> Result<Option<SessionUid>, JournalError> {
        let Some(row) = self.first_row(keys::holders(after)).await? else { return Ok(None) };
        Ok(Some(keys::decode_holder(&row.key).ok_or(SESSION)?))
    }

    /// What there is under `uid` now.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn holding(&self, uid: &SessionUid) -> Result<Holding, JournalError> {
        let mut holding = self
            .store
            .transact(|transaction, _| {
                let uid = uid.clone();
                async move { read_holding(transaction, uid).await }.boxed()
            })
            .await
            .map_err(|error| JournalError::from(error).of_session(uid))?;
        match &mut holding {
            Holding::Session(session, _) => {
                let reader = session.uid.clone();
                session.inheritance.hash = self.hash_at(&reader, session.inheritance.last).await?;
            }
            Holding::Remains(remains) => {
                remains.inheritance.hash = self.hash_at(&remains.reader, remains.inheritance.last).await?;
            }
            Holding::Nothing => {}
        }
        Ok(holding)
    }

    /// The records that a session holds itself, up to the end that was read with it.
    pub fn own_records(
        &self,
        session: &ForeignSession,
        end: &LogEnd,
    ) -> BoxStream<'static, Result<LogRecord, JournalError>> {
        self.records(&session.uid, SeqRange { from: session.inheritance.last.next(), to: Some(end.seq) })
    }

    /// The records of remains. Their fence is that which inherited records have.
    pub fn remaining_records(&self, remains: &Remains) -> BoxStream<'static, Result<LogRecord, JournalError>> {
        let from = remains.inheritance.last.next();
        self.records(&remains.reader, SeqRange { from, to: Some(remains.last) })
    }

    /// The reserved harness name after `after`; `None` after the last.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn next_reserved_name(&self, after: Option<&str>) -> Result<Option<ForeignName>, JournalError> {
        const CORRUPT: Corrupt = Corrupt { what: "reserved name" };
        let Some(KeyValue { key, value }) = self.first_row(keys::reserved_harnesses(after)).await? else {
            return Ok(None);
        };
        let name = keys::decode_harness(&key).ok_or(CORRUPT)?;
        let row: ReservedRow = rows::decode(CORRUPT.what, &value)?;
        Ok(Some(ForeignName::Reserved { name, time: row.reserve_time }))
    }

    /// The audit record of a deletion after that of `after`; `None` after the last.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn next_buried(&self, after: Option<&SessionUid>) -> Result<Option<Buried>, JournalError> {
        let Some(KeyValue { key, value }) = self.first_row(keys::tombstones(after)).await? else { return Ok(None) };
        let uid = keys::decode_removal(&key).ok_or(Corrupt { what: "deletion" })?;
        Ok(Some(Buried { uid, row: value }))
    }

    /// Whether there are rows that a copy would not have, because only a later version knows them.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn has_unknown_rows(&self) -> Result<bool, JournalError> {
        Ok(self.first_row(keys::unknown_families()).await?.is_some())
    }

    async fn hash_at(&self, uid: &SessionUid, seq: Seq) -> Result<Option<ContentHash>, JournalError> {
        if seq == Seq::ZERO {
            return Ok(None);
        }
        let record = self.records(uid, SeqRange { from: seq, to: Some(seq) }).try_next().await?;
        let hash = record.and_then(|record| record.content_hash.parse().ok());
        hash.map(Some).ok_or_else(|| JournalError::CorruptSession(uid.clone(), SESSION))
    }

    async fn first_row(&self, range: KeyRange) -> Result<Option<KeyValue>, JournalError> {
        let read = RangeRead::forward(range).limit(1);
        let page = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let read = read.clone();
                async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
            })
            .await?;
        Ok(page.rows.into_iter().next())
    }
}

/// What is under `uid`; the hash of what it inherits is missing.
async fn read_holding(transaction: &mut Transaction, uid: SessionUid) -> Result<Holding, TransactError<JournalError>> {
    let keys = SessionKeys::new(&uid);
    if let Some(state) = read_state::<JournalError>(transaction, uid.clone()).await? {
        let last = state.row().lineage.last().map_or(Seq::ZERO, Segment::up_to);
        let inherited = inherited(transaction, &keys, last).await?;
        let hash = state.head_hash().map_or_else(String::new, ContentHash::hex);
        let end = LogEnd { seq: state.last_seq(), hash };
        let session = ForeignSession::of(&state, inherited).map_err(refuse)?;
        return Ok(Holding::Session(Box::new(session), end));
    }
    let pin = RangeRead::forward(keys::pins(&uid)).limit(1);
    let batch = RangeRead::forward(keys.batches_from(Seq::ZERO)).limit(1);
    let pin = transaction.get_range(&pin, Isolation::Snapshot).await?.rows.into_iter().next();
    let batch = transaction.get_range(&batch, Isolation::Snapshot).await?.rows.into_iter().next();
    let (Some(pin), Some(batch)) = (pin, batch) else { return Ok(Holding::Nothing) };
    let corrupt = || refuse(Corrupt { what: "pin" });
    let reader = keys::decode_pin_child(&pin.key).ok_or_else(corrupt)?;
    let last = keys::decode_pin(&pin.key).ok_or_else(corrupt)?;
    let first = BatchKey::decode(&batch.key).ok_or_else(|| refuse(SESSION))?.first;
    let inheritance = inherited(transaction, &keys, first.previous()).await?;
    Ok(Holding::Remains(Box::new(Remains { uid, inheritance, last, reader })))
}

/// What a log has up to `last`, before the records that are held under `keys`.
async fn inherited(
    transaction: &mut Transaction,
    keys: &SessionKeys,
    last: Seq,
) -> Result<Inheritance, TransactError<JournalError>> {
    if last == Seq::ZERO {
        return Ok(Inheritance::default());
    }
    let first = batch_of::<JournalError>(transaction, keys, last.next(), last.next()).await?;
    let projection = first.projection_at(last).map_err(refuse)?;
    Ok(Inheritance { last, projection, ..Inheritance::default() })
}
