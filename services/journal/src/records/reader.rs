//! One read of a log, window by window.

use std::collections::VecDeque;

use futures::FutureExt;
use store::{Isolation, Page, RangeRead, Store, TransactError, Transaction};
use wire::LogRecord;

use super::SeqRange;
use crate::batch::{Assembler, Batch, View};
use crate::error::{Corrupt, JournalError, refuse};
use crate::keys::{BatchKey, SessionKeys};
use crate::lineage::{self, Stretch};
use crate::sessions::read_state;
use crate::{Seq, SessionState, SessionUid};

/// Soft bound of a window: it ends with the row that reaches it. Decoding one takes well under a millisecond.
const WINDOW_BYTES: usize = 128 * 1024;
/// A batch is missing, or not where it should be.
const GAP: Corrupt = Corrupt { what: "record batch" };

/// A position in a log.
pub(super) struct Reader {
    store: Store,
    uid: SessionUid,
    /// What is still to be read.
    stretches: VecDeque<Stretch>,
    /// The next window of the first stretch, if that has been entered.
    rest: Option<RangeRead>,
    /// The first record to return; the one before it is read for its hash.
    from: Seq,
    /// The next record to read.
    next: Seq,
    view: View,
    assembler: Assembler,
}

impl Reader {
    /// Begins a read of what there is now.
    pub(super) async fn open(store: Store, uid: SessionUid, range: SeqRange) -> Result<Self, JournalError> {
        let state = state(&store, &uid).await?;
        let from = range.from.max(Seq::FIRST);
        let next = from.previous().max(Seq::FIRST);
        let mut reader = Self {
            store,
            uid: uid.clone(),
            stretches: VecDeque::new(),
            rest: None,
            from,
            next,
            view: View::default(),
            assembler: Assembler::default(),
        };
        if let Some(state) = state {
            let to = range.to.map_or(state.last_seq(), |to| to.min(state.last_seq()));
            if from <= to {
                let stretches = lineage::stretches(&uid, state.row(), next, to);
                reader.stretches = stretches.map_err(|corrupt| JournalError::from(corrupt).of_session(&uid))?.into();
            }
        }
        Ok(reader)
    }

    /// The session that is read.
    pub(super) fn uid(&self) -> &SessionUid {
        &self.uid
    }

    /// Whether the session is gone.
    pub(super) async fn is_deleted(&self) -> Result<bool, JournalError> {
        Ok(state(&self.store, &self.uid).await?.is_none())
    }

    /// The records of the next window that has some in the range.
    pub(super) async fn next_window(&mut self) -> Result<Option<Vec<LogRecord>>, JournalError> {
        while let Some(stretch) = self.stretches.front().cloned() {
            let read = match self.rest.take() {
                Some(read) => read,
                None => self.enter(&stretch).await?,
            };
            let page = self.read(&read).await?;
            self.rest = read.after(&page);
            let records = self.decode(page, &stretch)?;
            if self.rest.is_none() {
                self.leave(&stretch)?;
            }
            if !records.is_empty() {
                return Ok(Some(records));
            }
        }
        Ok(None)
    }

    async fn enter(&self, stretch: &Stretch) -> Result<RangeRead, JournalError> {
        let keys = SessionKeys::new(&stretch.holder);
        let (begin, next) = (stretch.begin, self.next);
        if begin == next {
            return Ok(window(&keys, begin, stretch.to));
        }
        let first = self
            .store
            .transact(|transaction, _| {
                let keys = keys.clone();
                async move { first_of_batch::<JournalError>(transaction, &keys, begin, next).await }.boxed()
            })
            .await?;
        Ok(window(&keys, first, stretch.to))
    }

    fn leave(&mut self, stretch: &Stretch) -> Result<(), Corrupt> {
        self.stretches.pop_front();
        if self.next > stretch.to { Ok(()) } else { Err(GAP) }
    }

    fn decode(&mut self, page: Page, stretch: &Stretch) -> Result<Vec<LogRecord>, Corrupt> {
        let rows = page.rows.into_iter();
        let batches: Vec<Batch> =
            rows.filter_map(|row| self.assembler.push(row).transpose()).collect::<Result<_, _>>()?;
        let mut records = Vec::with_capacity(batches.iter().map(Batch::len).sum());
        self.view.inherited = stretch.inherited;
        for batch in batches {
            if batch.first() > self.next || batch.last() < self.next {
                return Err(GAP);
            }
            self.next = batch.last().min(stretch.to).next();
            batch.read(self.from, stretch.to, &mut self.view, &mut records)?;
        }
        Ok(records)
    }

    async fn read(&self, read: &RangeRead) -> Result<Page, JournalError> {
        let page = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let read = read.clone();
                async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
            })
            .await?;
        Ok(page)
    }
}

async fn state(store: &Store, uid: &SessionUid) -> Result<Option<SessionState>, JournalError> {
    let state = store
        .transact(|transaction, _| {
            let uid = uid.clone();
            async move { read_state::<JournalError>(transaction, uid).await }.boxed()
        })
        .await?;
    Ok(state)
}

/// The batch that holds the record `seq`, which a session of these keys wrote, the first of its own being `begin`.
pub(crate) async fn batch_of<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
    begin: Seq,
    seq: Seq,
) -> Result<Batch, TransactError<E>> {
    let first = first_of_batch(transaction, keys, begin, seq).await?;
    let mut assembler = Assembler::default();
    let mut rest = Some(window(keys, first, first));
    while let Some(read) = rest {
        let page = transaction.get_range(&read, Isolation::Snapshot).await?;
        rest = read.after(&page);
        for row in page.rows {
            if let Some(batch) = assembler.push(row).map_err(refuse)? {
                return Ok(batch);
            }
        }
    }
    Err(refuse(GAP))
}

async fn first_of_batch<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
    begin: Seq,
    seq: Seq,
) -> Result<Seq, TransactError<E>> {
    let read = RangeRead::backward(keys.batch_range(begin, seq)).limit(1);
    let page = transaction.get_range(&read, Isolation::Snapshot).await?;
    let key = page.rows.first().and_then(|row| BatchKey::decode(&row.key));
    key.map(|key| key.first).ok_or_else(|| refuse(GAP))
}

fn window(keys: &SessionKeys, first: Seq, last: Seq) -> RangeRead {
    RangeRead { byte_limit: WINDOW_BYTES, ..RangeRead::forward(keys.batch_range(first, last)) }
}
