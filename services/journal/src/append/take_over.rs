//! Minting a fence and the first append under it, in one transaction.

use std::sync::Arc;

use futures::{FutureExt, TryStreamExt};
use store::{Attempt, Isolation, RangeRead, TransactError, Transaction};
use wire::{Event, LogRecord};

use super::{Draft, Writer, read_head};
use crate::batch::Batch;
use crate::error::{AppendError, refuse};
use crate::keys::SessionKeys;
use crate::metrics::METRICS;
use crate::rows::{Head, WriterToken};
use crate::{Incarnation, Journal, SeqRange, SessionState};

/// What the transaction did.
enum Outcome {
    /// The fence is minted and the events are appended.
    Taken(Draft),
    /// The same, by an attempt whose answer was lost.
    TakenBefore(Head),
    /// The fence is minted; the head was not where it was expected.
    Moved,
}

/// A take-over, shared by its attempts.
struct Claim {
    keys: SessionKeys,
    token: WriterToken,
    owner: Incarnation,
    /// The head that the caller knows of.
    known: Head,
    events: Vec<Event>,
    now: i64,
}

impl Journal {
    /// Mints a fence and appends `events` to the log that ends as `state` says, in one transaction: what
    /// [`mint`](Self::mint) and [`append`](Self::append) do in two. Without contention this reads nothing, as an append does.
    ///
    /// # Errors
    /// [`AppendError::Conflict`] if the log ends elsewhere; the fence is minted all the same, as a take-over in two steps
    /// would have done. Otherwise as for [`append`](Self::append).
    pub async fn take_over(
        &self,
        state: &SessionState,
        mut events: Vec<Event>,
    ) -> Result<(Writer, Vec<LogRecord>), AppendError> {
        events.iter_mut().for_each(wire::normalise);
        let (uid, known) = (state.uid(), state.head().clone());
        let expected = known.last_seq;
        let keys = SessionKeys::new(uid);
        let token = WriterToken::mint(&self.env);
        let (owner, now) = (self.incarnation, self.env.unix_nanos());
        let claim = Arc::new(Claim { keys, token, owner, known, events, now });
        let outcome = self
            .store
            .transact(|transaction, attempt| {
                let claim = Arc::clone(&claim);
                async move { claim.stake(transaction, attempt).await }.boxed()
            })
            .await
            .map_err(AppendError::from)
            .inspect_err(|error| METRICS.not_appended(error))?;
        let (head, records) = match outcome {
            Outcome::Moved => {
                METRICS.not_appended(&AppendError::Conflict);
                return Err(AppendError::Conflict);
            }
            Outcome::Taken(draft) => {
                let events = Arc::try_unwrap(claim).map_or_else(|shared| shared.events.clone(), |claim| claim.events);
                (draft.head().clone(), draft.records(events))
            }
            Outcome::TakenBefore(head) => {
                let range = SeqRange { from: expected.next(), to: Some(head.last_seq) };
                let records = self.records(uid, range).try_collect().await?;
                (head, records)
            }
        };
        METRICS.appended(records.len());
        self.note_appended(uid, head.last_seq);
        Ok((Writer::new(uid.clone(), head), records))
    }
}

impl Claim {
    async fn stake(
        &self,
        transaction: &mut Transaction,
        attempt: Attempt,
    ) -> Result<Outcome, TransactError<AppendError>> {
        let head_key = self.keys.head();
        let head = if attempt.is_first() {
            transaction.presume(&head_key, Some(&self.known.encode())).await?;
            self.known.clone()
        } else {
            read_head(transaction, &head_key).await?
        };
        if attempt.maybe_committed && head.writer == self.token {
            // Nobody else has minted since, so the head is as that attempt left it. That there are as many records as it
            // would have appended proves nothing: those of whoever moved the head may be as many.
            let appended = self.is_recorded(transaction).await?;
            return Ok(if appended { Outcome::TakenBefore(head) } else { Outcome::Moved });
        }
        if head.last_seq != self.known.last_seq {
            if attempt.maybe_committed && self.is_recorded(transaction).await? {
                return Err(refuse(AppendError::Fenced));
            }
            transaction.set(&head_key, &head.minted(self.token, self.owner, self.now).encode());
            return Ok(Outcome::Moved);
        }
        let minted = head.minted(self.token, self.owner, self.now);
        let draft = Draft::prepare(&self.keys, &minted, &self.events, self.now).map_err(refuse)?;
        draft.write(transaction).await?;
        Ok(Outcome::Taken(draft))
    }

    /// Whether an earlier attempt appended the events, however much has been appended since.
    async fn is_recorded(&self, transaction: &mut Transaction) -> Result<bool, TransactError<AppendError>> {
        let first = self.known.last_seq.next();
        let read = RangeRead::forward(self.keys.batch_range(first, first)).limit(1);
        let page = transaction.get_range(&read, Isolation::Serializable).await?;
        let Some(row) = page.rows.into_iter().next() else { return Ok(false) };
        let batch = Batch::decode(first, row.value).map_err(refuse)?;
        Ok(batch.is_by(self.token))
    }
}
