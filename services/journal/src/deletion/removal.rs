//! Removing the records of deleted sessions, a bounded transaction at a time. Every step may be done twice, and by
//! several nodes at once; what a crash leaves undone is found by the row that says so.

use futures::FutureExt;
use store::{Isolation, KeyRange, RangeRead, TransactError, Transaction};

use super::is_deleted;
use crate::error::{Corrupt, JournalError, refuse};
use crate::keys::{self, SessionKeys};
use crate::rows::{self, RemovalRow, Segment};
use crate::{Journal, Seq, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "deletion" };

impl Journal {
    /// Removes what nobody reads any more of a session that was deleted, and of those deleted ancestors whose records
    /// were kept for it alone. Does nothing if that has been done.
    ///
    /// # Errors
    /// [`JournalError`]; what is left undone can be finished later.
    pub async fn finish_deletion(&self, uid: &SessionUid) -> Result<(), JournalError> {
        let Some(removal) = self.removal(uid).await? else { return Ok(()) };
        self.remove_records(uid).await?;
        self.remove_instance(uid).await?;
        for segment in &removal.lineage {
            self.release(uid, segment).await?;
        }
        self.note_finished(uid).await
    }

    /// A session that was deleted and whose records are not all removed.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn unfinished_deletion(&self) -> Result<Option<SessionUid>, JournalError> {
        let first = self
            .store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let read = RangeRead::forward(keys::removals()).limit(1);
                async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
            })
            .await?;
        let uid = first.rows.first().map(|row| keys::decode_removal(&row.key).ok_or(CORRUPT));
        Ok(uid.transpose()?)
    }

    async fn removal(&self, uid: &SessionUid) -> Result<Option<RemovalRow>, JournalError> {
        let row = self
            .store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let key = keys::removal(uid);
                async move { Ok(transaction.get_snapshot(&key).await?) }.boxed()
            })
            .await?;
        Ok(row.map(|value| rows::decode(CORRUPT.what, &value)).transpose()?)
    }

    /// Removes those records of a deleted session that it wrote itself and that no child reads.
    async fn remove_records(&self, uid: &SessionUid) -> Result<(), JournalError> {
        let keys = SessionKeys::new(uid);
        loop {
            let more = self
                .store
                .background()
                .transact(|transaction, _| {
                    let keys = keys.clone();
                    async move { remove_page(transaction, &keys).await }.boxed()
                })
                .await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Gives up what a deleted session kept of an ancestor.
    async fn release(&self, uid: &SessionUid, segment: &Segment) -> Result<(), JournalError> {
        let ancestor = segment.uid().ok_or(CORRUPT)?;
        let pin = keys::pin(&ancestor, segment.up_to(), uid);
        let buried = self
            .store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let (pin, ancestor) = (pin.clone(), ancestor.clone());
                async move {
                    transaction.clear(&pin);
                    // Read so that it conflicts: an ancestor that is buried later finds the pin gone.
                    is_deleted(transaction, &ancestor).await
                }
                .boxed()
            })
            .await?;
        if buried { self.remove_records(&ancestor).await } else { Ok(()) }
    }

    async fn note_finished(&self, uid: &SessionUid) -> Result<(), JournalError> {
        self.store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                transaction.clear(&keys::removal(uid));
                async { Ok(()) }.boxed()
            })
            .await?;
        Ok(())
    }
}

/// Removes a page of records, and tells whether there are more.
async fn remove_page(transaction: &mut Transaction, keys: &SessionKeys) -> Result<bool, TransactError<JournalError>> {
    let kept = kept(transaction, keys.uid()).await?;
    let read = RangeRead::forward(keys.batches_from(kept.next()));
    let page = transaction.get_range(&read, Isolation::Snapshot).await?;
    let (Some(first), Some(last)) = (page.rows.first(), page.rows.last()) else { return Ok(false) };
    transaction.clear_range(&KeyRange::new(first.key.clone(), [&last.key[..], &[0]].concat()));
    Ok(page.more)
}

/// The last record of a session that some child reads. The batch that holds it is kept whole.
async fn kept(transaction: &mut Transaction, uid: &SessionUid) -> Result<Seq, TransactError<JournalError>> {
    // A fork that pins more at the same time conflicts with this.
    let read = RangeRead::forward(keys::pins(uid)).limit(1);
    let page = transaction.get_range(&read, Isolation::Serializable).await?;
    match page.rows.first() {
        Some(row) => keys::decode_pin(&row.key).ok_or_else(|| refuse(CORRUPT)),
        None => Ok(Seq::ZERO),
    }
}
