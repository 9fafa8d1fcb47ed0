//! Removing what need not be retained any longer: a bounded transaction at a time. Every step may be done twice, and by
//! several nodes at once; what a crash leaves undone is found by the row that lists the invocation as finished.

use futures::FutureExt;
use store::{Isolation, KeyRange, RangeRead, TransactError, Transaction};

use super::InvocationId;
use crate::error::refuse;
use crate::keys::{self, FINISHED_SHARDS, Finished, InvocationKeys, SessionKeys};
use crate::rows::{self, AttachmentRow, AttemptOfRow, InstanceOfRow, InstanceRow, Kept, ProgressRow, RunnerRow};
use crate::{Corrupt, Incarnation, Journal, JournalError, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "invocation" };
/// Most invocations, or attempts, that one transaction looks at.
const PAGE: usize = 100;

impl Journal {
    /// Removes invocations that finished before `time`, in Unix seconds, and are detached; up to `limit` of them. Returns
    /// how many there were. Their idempotency keys stay used.
    ///
    /// # Errors
    /// [`JournalError`]; what is left undone can be done later.
    pub async fn sweep(&self, time: u64, limit: usize) -> Result<usize, JournalError> {
        let mut removed = 0;
        for shard in 0..FINISHED_SHARDS {
            let mut rest = Some(RangeRead::forward(Finished::before(shard, time)).limit(PAGE));
            while let Some(read) = rest {
                let page = self.background_page(&read).await?;
                rest = read.after(&page);
                for row in page.rows {
                    if removed == limit {
                        return Ok(removed);
                    }
                    let finished = Finished::decode(&row.key).ok_or(CORRUPT)?;
                    removed += usize::from(self.remove_finished(&finished).await?);
                }
            }
        }
        Ok(removed)
    }

    /// Removes an invocation unless somebody is attached to it.
    async fn remove_finished(&self, finished: &Finished) -> Result<bool, JournalError> {
        let Finished { session, invocation, .. } = finished;
        let keys = SessionKeys::new(session).invocation(*invocation);
        let attached = self
            .store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let keys = keys.clone();
                async move {
                    let attachment = Kept::<AttachmentRow>::read(transaction, &keys.attachment()).await?;
                    let attached = attachment.is_some_and(|attachment| attachment.row.node != 0);
                    if !attached {
                        // From here on it is not retained for anybody.
                        transaction.clear(&keys.attachment());
                    }
                    Ok(attached)
                }
                .boxed()
            })
            .await?;
        if attached {
            return Ok(false);
        }
        self.remove_rows(&keys).await?;
        self.clear_in_background(vec![KeyRange::single(&finished.key())]).await?;
        Ok(true)
    }

    /// Removes all that a deleted session was as an agent instance.
    pub(crate) async fn remove_instance(&self, uid: &SessionUid) -> Result<(), JournalError> {
        let keys = SessionKeys::new(uid);
        loop {
            let page = self.background_page(&RangeRead::forward(keys.invocations()).limit(1)).await?;
            let Some(first) = page.rows.first() else { break };
            let invocation = keys::decode_invocation(&first.key).ok_or(CORRUPT)?;
            self.unlist_invocation(uid, invocation).await?;
            self.remove_rows(&keys.invocation(invocation)).await?;
        }
        self.unlist_instance(&keys).await?;
        self.remove_range(keys.instance_rows()).await
    }

    /// Ends the attachment of an invocation, and takes it off the list of those that are finished.
    async fn unlist_invocation(&self, uid: &SessionUid, invocation: InvocationId) -> Result<(), JournalError> {
        self.store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let uid = uid.clone();
                async move { unlist(transaction, &uid, invocation).await }.boxed()
            })
            .await?;
        Ok(())
    }

    /// Makes way for another session to be the instance.
    async fn unlist_instance(&self, keys: &SessionKeys) -> Result<(), JournalError> {
        self.store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let keys = keys.clone();
                async move {
                    let Some(value) = transaction.get(&keys.instance()).await? else { return Ok(()) };
                    let row: InstanceRow = rows::decode(CORRUPT.what, &value).map_err(refuse)?;
                    let digest = rows::decode_digest(CORRUPT.what, &row.digest).map_err(refuse)?;
                    let of = keys::instance_of(&digest);
                    let Some(value) = transaction.get(&of).await? else { return Ok(()) };
                    let named: InstanceOfRow = rows::decode(CORRUPT.what, &value).map_err(refuse)?;
                    if named.uid == keys.uid().as_str() {
                        transaction.clear(&of);
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        Ok(())
    }

    /// Removes the rows of an invocation that nobody is attached to any more.
    async fn remove_rows(&self, keys: &InvocationKeys) -> Result<(), JournalError> {
        loop {
            let read = RangeRead::forward(keys.attempts()).limit(PAGE);
            let page = self.background_page(&read).await?;
            let mut ranges = Vec::new();
            for row in &page.rows {
                let id = keys::decode_attempt(&row.key).ok_or(CORRUPT)?;
                let of: AttemptOfRow = rows::decode("attempt", &row.value)?;
                ranges.extend([KeyRange::single(&keys::attempt(&of.account, id)), KeyRange::single(&row.key)]);
            }
            self.clear_in_background(ranges).await?;
            if !page.more {
                break;
            }
        }
        self.remove_range(keys.all()).await
    }

    /// Removes what there is in a range, a page at a time.
    async fn remove_range(&self, range: KeyRange) -> Result<(), JournalError> {
        let mut rest = Some(RangeRead::forward(range));
        while let Some(read) = rest {
            let page = self.background_page(&read).await?;
            rest = read.after(&page);
            if let (Some(first), Some(last)) = (page.rows.first(), page.rows.last()) {
                let through_last = KeyRange::single(&last.key).end;
                self.clear_in_background(vec![KeyRange::new(first.key.clone(), through_last)]).await?;
            }
        }
        Ok(())
    }

    async fn background_page(&self, read: &RangeRead) -> Result<store::Page, JournalError> {
        let page = self
            .store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                let read = read.clone();
                async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
            })
            .await?;
        Ok(page)
    }

    async fn clear_in_background(&self, ranges: Vec<KeyRange>) -> Result<(), JournalError> {
        self.store
            .background()
            .transact::<_, JournalError, _>(|transaction, _| {
                ranges.iter().for_each(|range| transaction.clear_range(range));
                async { Ok(()) }.boxed()
            })
            .await?;
        Ok(())
    }
}

/// Shuts out whoever drives the queue of a session, in the transaction that deletes it.
pub(crate) async fn shut_out<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
) -> Result<(), TransactError<E>> {
    let Some(runner) = Kept::<RunnerRow>::read(transaction, &keys.runner()).await? else { return Ok(()) };
    transaction.clear(&keys::run(Incarnation::from_number(runner.row.node), keys.uid()));
    transaction.clear(&keys.runner());
    Ok(())
}

async fn unlist(
    transaction: &mut Transaction,
    uid: &SessionUid,
    invocation: InvocationId,
) -> Result<(), TransactError<JournalError>> {
    let keys = SessionKeys::new(uid).invocation(invocation);
    if let Some(attachment) = Kept::<AttachmentRow>::read(transaction, &keys.attachment()).await? {
        if let Some(node) = Incarnation::from_number(attachment.row.node) {
            transaction.clear(&keys::held(node, uid, invocation));
        }
        transaction.clear(&keys.attachment());
    }
    if let Some(progress) = Kept::<ProgressRow>::read(transaction, &keys.progress()).await?
        && progress.row.outcome.is_some()
    {
        let finished = Finished { time: progress.row.finish_time, session: uid.clone(), invocation };
        transaction.clear(&finished.key());
    }
    Ok(())
}
