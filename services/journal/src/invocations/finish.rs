//! What an invocation comes to.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use store::{Isolation, RangeRead, TransactError, Transaction};

use super::introduce::{Introduced, introduce};
use super::read::read_value;
use super::runs::{is_running, leave_if_idle};
use super::{InvocationId, MAX_VALUE_BYTES, NewOutput, Outcome, OutputFault, Owner, Run, RunError};
use crate::error::{check, refuse};
use crate::keys::{Finished, InvocationKeys, OfStream, SessionKeys};
use crate::pieces::divide;
use crate::rows::{Kept, ProgressRow, ReturnedRow, StreamStateRow};
use crate::{Corrupt, Journal};

const STREAM: Corrupt = Corrupt { what: "stream" };

/// What a method returned, shared by the attempts to store it.
struct Returning {
    run: Run,
    keys: InvocationKeys,
    row: ReturnedRow,
    value: Bytes,
    streams: Vec<Introduced>,
}

/// The end of an invocation, shared by the attempts to store it.
struct Finishing {
    run: Run,
    invocation: InvocationId,
    outcome: Outcome,
    /// Unix seconds.
    now: u64,
}

impl Journal {
    /// Stores what the method returned, with the outputs in it in document order. Nothing happens if the same is stored.
    ///
    /// # Errors
    /// [`RunError`]; [`RunError::Over`] if something else is stored.
    pub async fn set_returned(
        &self,
        run: &Run,
        invocation: InvocationId,
        value: Option<&str>,
        streams: Vec<NewOutput>,
    ) -> Result<(), RunError> {
        check("result", value.map_or(0, str::len), MAX_VALUE_BYTES)?;
        let returning = Arc::new(Returning {
            run: run.clone(),
            keys: SessionKeys::new(run.session()).invocation(invocation),
            row: ReturnedRow { value: value.is_some(), streams: streams.len() as u32 },
            value: Bytes::copy_from_slice(value.unwrap_or_default().as_bytes()),
            streams: Introduced::outputs(invocation, Owner::Result, &streams),
        });
        self.store
            .transact(|transaction, _| {
                let returning = Arc::clone(&returning);
                // An earlier attempt that was committed has stored the same.
                async move { returning.write(transaction).await }.boxed()
            })
            .await?;
        self.note_streams_changed(run.session());
        Ok(())
    }

    /// Ends an invocation, all of whose streams have ended: it leaves the queue of its instance, which nobody drives any
    /// more if that was the last one. Nothing happens if it has ended with the same outcome. Returns whether the run goes on,
    /// with the next one.
    ///
    /// # Errors
    /// [`RunError`]; a fault of the kind [`OutputFault::Open`] names a stream that has not ended.
    pub async fn finish_invocation(
        &self,
        run: &Run,
        invocation: InvocationId,
        outcome: Outcome,
    ) -> Result<bool, RunError> {
        let now = self.env.unix_time().as_secs();
        let finishing = Arc::new(Finishing { run: run.clone(), invocation, outcome, now });
        let goes_on = self
            .store
            .transact(|transaction, _| {
                let finishing = Arc::clone(&finishing);
                // An earlier attempt that was committed has stored the same outcome.
                async move { finishing.write(transaction).await }.boxed()
            })
            .await?;
        self.note_streams_changed(run.session());
        Ok(goes_on)
    }
}

impl Returning {
    async fn write(&self, transaction: &mut Transaction) -> Result<(), TransactError<RunError>> {
        if !is_running(transaction, &self.run).await? {
            return Err(refuse(RunError::Lost));
        }
        let mut progress = read_progress(transaction, &self.keys).await?;
        if progress.row.returned.is_some() {
            return self.compare(transaction, &progress.row).await;
        }
        if progress.row.outcome.is_some() {
            return Err(refuse(RunError::Over));
        }
        if introduce(transaction, &self.keys, &self.streams).await?.is_some() {
            return Err(refuse(RunError::TooManyStreams));
        }
        if self.row.value {
            for (piece, part) in divide(self.value.clone()) {
                transaction.set(&self.keys.result(piece), &part);
            }
        }
        progress.row.returned = Some(self.row);
        progress.write(transaction, &self.keys.progress());
        Ok(())
    }

    async fn compare(
        &self,
        transaction: &mut Transaction,
        progress: &ProgressRow,
    ) -> Result<(), TransactError<RunError>> {
        let stored = read_value(transaction, self.keys.result_rows()).await?.unwrap_or_default();
        let same = progress.returned == Some(self.row) && stored == self.value;
        if same { Ok(()) } else { Err(refuse(RunError::Over)) }
    }
}

impl Finishing {
    async fn write(&self, transaction: &mut Transaction) -> Result<bool, TransactError<RunError>> {
        let session = SessionKeys::new(self.run.session());
        let keys = session.invocation(self.invocation);
        let mut progress = read_progress(transaction, &keys).await?;
        let outcome = self.outcome.to_row();
        let is_running = is_running(transaction, &self.run).await?;
        if let Some(stored) = &progress.row.outcome {
            return if *stored == outcome { Ok(is_running) } else { Err(refuse(RunError::Over)) };
        }
        if !is_running {
            return Err(refuse(RunError::Lost));
        }
        check_ended(transaction, &keys).await?;
        progress.row.outcome = Some(outcome);
        progress.row.finish_time = self.now;
        progress.write(transaction, &keys.progress());
        transaction.set(&self.finished().key(), &[]);
        transaction.clear(&session.queued(progress.row.order));
        leave_if_idle(transaction, &session).await
    }

    fn finished(&self) -> Finished {
        Finished { time: self.now, session: self.run.session().clone(), invocation: self.invocation }
    }
}

async fn read_progress(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
) -> Result<Kept<ProgressRow>, TransactError<RunError>> {
    Kept::read(transaction, &keys.progress()).await?.ok_or_else(|| refuse(RunError::Lost))
}

/// Whether every stream has ended. Read so that a stream which comes or goes on meanwhile conflicts.
async fn check_ended(transaction: &mut Transaction, keys: &InvocationKeys) -> Result<(), TransactError<RunError>> {
    let mut rest = Some(RangeRead::forward(keys.stream_states()));
    while let Some(read) = rest {
        let page = transaction.get_range(&read, Isolation::Serializable).await?;
        rest = read.after(&page);
        for row in page.rows {
            let state = Kept::<StreamStateRow>::decode(&row.value).map_err(refuse)?;
            if state.row.terminal.is_none() {
                let (_, stream) = OfStream::decode(&row.key).ok_or_else(|| refuse(STREAM))?;
                return Err(refuse(RunError::Fault(stream, OutputFault::Open)));
            }
        }
    }
    Ok(())
}
