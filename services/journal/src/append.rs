//! Gaining the right to append, and appending (journal.md §4).

mod draft;
mod take_over;
mod writer;

use std::sync::Arc;

use futures::FutureExt;
use store::{Attempt, TransactError, Transaction};
use wire::{Event, LogRecord};

pub use writer::Writer;

pub(crate) use draft::Draft;

use crate::error::{AppendError, refuse};
use crate::keys::SessionKeys;
use crate::metrics::METRICS;
use crate::rows::{Head, WriterToken};
use crate::{Journal, SessionUid};

impl Journal {
    /// Mints the next fence, which shuts every other writer out. Durable on its own.
    ///
    /// # Errors
    /// [`AppendError::NoSession`] and what the journal itself can answer.
    pub async fn mint(&self, uid: &SessionUid) -> Result<Writer, AppendError> {
        let keys = SessionKeys::new(uid);
        let head_key = keys.head();
        let token = WriterToken::mint(&self.env);
        let (owner, now) = (self.incarnation, self.env.unix_nanos());
        let head = self
            .store
            .transact(|transaction, attempt| {
                let head_key = head_key.clone();
                async move {
                    let head = read_head(transaction, &head_key).await?;
                    if attempt.maybe_committed && head.writer == token {
                        return Ok(head);
                    }
                    // If an earlier attempt did mint and was superseded since, minting again only comes after that.
                    let minted = head.minted(token, owner, now);
                    transaction.set(&head_key, &minted.encode());
                    Ok(minted)
                }
                .boxed()
            })
            .await?;
        Ok(Writer::new(uid.clone(), head))
    }

    /// Appends `events` after the head that `writer` knows.
    ///
    /// Without contention this reads nothing: the head row that the writer wrote last is presumed to be there still.
    /// After an error the writer may be asked again, and answers [`AppendError::Conflict`] if the log has moved.
    ///
    /// # Errors
    /// [`AppendError`].
    pub async fn append(&self, writer: &mut Writer, mut events: Vec<Event>) -> Result<Vec<LogRecord>, AppendError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        events.iter_mut().for_each(wire::normalise);
        let draft = Arc::new(Draft::prepare(writer.keys(), writer.head_row(), &events, self.env.unix_nanos())?);
        let presumed = writer.stored_head().clone();
        self.store
            .transact(|transaction, attempt| {
                let (draft, presumed) = (Arc::clone(&draft), presumed.clone());
                async move {
                    if attempt.is_first() {
                        transaction.presume(draft.head_key(), Some(&presumed)).await?;
                    } else if settle(transaction, attempt, &draft).await? == Settled::Recorded {
                        return Ok(());
                    }
                    draft.write(transaction).await
                }
                .boxed()
            })
            .await
            .map_err(AppendError::from)
            .inspect_err(|error| METRICS.not_appended(error))?;
        let records = draft.records(events);
        METRICS.appended(records.len());
        writer.advance(&draft);
        self.note_appended(writer.uid(), writer.head());
        Ok(records)
    }
}

#[derive(PartialEq, Eq)]
enum Settled {
    /// An earlier attempt was committed.
    Recorded,
    /// Nothing stands against the append.
    Open,
}

/// Finds out why an earlier attempt failed.
async fn settle(
    transaction: &mut Transaction,
    attempt: Attempt,
    draft: &Draft,
) -> Result<Settled, TransactError<AppendError>> {
    if attempt.maybe_committed && draft.is_recorded(transaction).await? {
        return Ok(Settled::Recorded);
    }
    let head = read_head(transaction, draft.head_key()).await?;
    if head.last_seq != draft.expected() {
        return Err(refuse(AppendError::Conflict));
    }
    if head.fence > draft.fence() {
        return Err(refuse(AppendError::Fenced));
    }
    Ok(Settled::Open)
}

async fn read_head(transaction: &mut Transaction, key: &[u8]) -> Result<Head, TransactError<AppendError>> {
    match transaction.get(key).await? {
        Some(value) => Head::decode(&value).map_err(refuse),
        None => Err(refuse(AppendError::NoSession)),
    }
}
