//! What the runner of an instance writes of streams (sections 11 and 16).

use std::sync::Arc;

use futures::FutureExt;
use store::{Attempt, TransactError, Transaction};

use super::introduce::{Introduced, introduce};
use super::put::{Change, Put, Right, cost, divide_changes};
use super::shelf::Shelf;
use super::{FrameItem, InvocationId, NewOutput, OutputFault, Owner, Role, Rule, Run, RunError, StreamId, Terminal};
use crate::Journal;
use crate::error::refuse;
use crate::metrics::METRICS;

/// A change of one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputWrite {
    /// The stream.
    pub stream: StreamId,
    /// The change.
    pub change: OutputChange,
}

/// See [`OutputWrite`].
#[derive(Clone, Debug, PartialEq)]
pub enum OutputChange {
    /// The next item of an output, or a batch of u8.
    Put {
        /// The sequence of the item, or of the first byte.
        first: u64,
        /// The item.
        item: FrameItem,
        /// The streams that it introduces, in document order.
        streams: Vec<NewOutput>,
    },
    /// An output ends. Nothing happens if it has ended in the same way.
    End(Terminal),
    /// The agent, or the host, gives an input up, for this reason (I8). Nothing happens if that has ended.
    Drop(String),
}

/// A put, shared by its attempts.
struct Outputs {
    put: Put<OutputWrite>,
    invocation: InvocationId,
}

impl Journal {
    /// Changes streams of the invocation that is run, in order. All is one transaction if it is no more than
    /// [`MAX_PUT_BYTES`](super::MAX_PUT_BYTES), otherwise several, of which the first ones may have been made when another
    /// one fails.
    ///
    /// # Errors
    /// [`RunError`].
    pub async fn put_outputs(
        &self,
        run: &Run,
        invocation: InvocationId,
        writes: Vec<OutputWrite>,
    ) -> Result<(), RunError> {
        for changes in divide_changes(writes)? {
            let right = Right::Runner(run.clone(), invocation);
            let put = self.prepare_put::<_, RunError>(right, changes).await?;
            let put = Arc::new(Outputs { put, invocation });
            self.store
                .transact(|transaction, attempt| {
                    let put = Arc::clone(&put);
                    async move { put.write(transaction, attempt).await }.boxed()
                })
                .await?;
            METRICS.put(Role::Output, put.put.bytes());
        }
        self.note_streams_changed(run.session());
        Ok(())
    }
}

impl Change for OutputWrite {
    fn stream(&self) -> StreamId {
        self.stream
    }

    fn item(&self) -> Option<(u64, &FrameItem)> {
        match &self.change {
            OutputChange::Put { first, item, .. } => Some((*first, item)),
            OutputChange::End(_) | OutputChange::Drop(_) => None,
        }
    }

    fn introduced(&self, invocation: InvocationId) -> Vec<Introduced> {
        match &self.change {
            OutputChange::Put { first, streams, .. } => {
                Introduced::outputs(invocation, Owner::Item(self.stream, *first), streams)
            }
            OutputChange::End(_) | OutputChange::Drop(_) => Vec::new(),
        }
    }

    fn cost(&self) -> usize {
        match &self.change {
            OutputChange::Put { item, streams, .. } => cost(item, streams.iter().map(|stream| &stream.element)),
            OutputChange::End(Terminal::Error { message, .. }) => message.len(),
            OutputChange::End(_) => 0,
            OutputChange::Drop(reason) => reason.len(),
        }
    }
}

impl Outputs {
    async fn write(&self, transaction: &mut Transaction, attempt: Attempt) -> Result<(), TransactError<RunError>> {
        let Put { right, keys, changes, mark, staged } = &self.put;
        if !right.holds(transaction).await? {
            return Err(refuse(RunError::Lost));
        }
        let mut shelf = Shelf::new(keys, *mark, *staged);
        if attempt.maybe_committed && shelf.is_written(transaction, self.put.streams()).await? {
            return Ok(());
        }
        for write in changes {
            self.change(transaction, &mut shelf, write).await?;
        }
        shelf.write(transaction);
        Ok(())
    }

    async fn change(
        &self,
        transaction: &mut Transaction,
        shelf: &mut Shelf<'_>,
        write: &OutputWrite,
    ) -> Result<(), TransactError<RunError>> {
        let fault = |fault| refuse(RunError::Fault(write.stream, fault));
        let to_output = !matches!(write.change, OutputChange::Drop(_));
        let stream = shelf.stream(transaction, write.stream).await?;
        let stream = stream.filter(|stream| stream.is_output() == to_output);
        let stream = stream.ok_or_else(|| fault(OutputFault::Absent))?;
        let (next, terminal) = (stream.next(), stream.terminal().map_err(refuse)?);
        match (&write.change, terminal) {
            (OutputChange::Put { .. }, Some(_)) => Err(fault(OutputFault::Ended)),
            (OutputChange::Put { first, .. }, None) if *first != next => Err(fault(OutputFault::OutOfSequence)),
            (OutputChange::Put { item, .. }, None) => self.put(transaction, shelf, write, item).await,
            (OutputChange::End(terminal), None) => {
                shelf.end(write.stream, terminal);
                Ok(())
            }
            (OutputChange::End(terminal), Some(stored)) if *terminal == stored => Ok(()),
            (OutputChange::End(_), Some(_)) => Err(fault(OutputFault::Ended)),
            (OutputChange::Drop(reason), None) => {
                // Without the mark, which is that of whoever writes the input.
                stream.end(&Terminal::CancelledByServer(reason.clone()));
                Ok(())
            }
            (OutputChange::Drop(_), Some(_)) => Ok(()),
        }
    }

    async fn put(
        &self,
        transaction: &mut Transaction,
        shelf: &mut Shelf<'_>,
        write: &OutputWrite,
        item: &FrameItem,
    ) -> Result<(), TransactError<RunError>> {
        let introduced = write.introduced(self.invocation);
        match introduce(transaction, &self.put.keys, &introduced).await? {
            None => {}
            Some(Rule::ResourceExhausted) => return Err(refuse(RunError::TooManyStreams)),
            // Its place has streams already: the stream does not end there.
            Some(_) => return Err(refuse(RunError::Fault(write.stream, OutputFault::OutOfSequence))),
        }
        let streams: Vec<StreamId> = introduced.iter().map(|stream| stream.id).collect();
        shelf.store(transaction, write.stream, item, &streams)
    }
}
