//! What the runner of an instance writes of streams (sections 11 and 16).

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{Attempt, TransactError, Transaction};

use super::introduce::{Introduced, introduce};
use super::put::{Change, Put, Right, cost, divide_changes};
use super::shelf::{Shelf, Shelved};
use super::{
    FrameItem, InvocationId, NewOutput, OutputFault, Owner, Role, Rule, Run, RunError, StreamId, Terminal, Volume,
};
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
    /// The agent was handed so much of an input since the beginning. Whoever notes less than what is noted takes it back.
    Handed(Volume),
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
            OutputChange::End(_) | OutputChange::Drop(_) | OutputChange::Handed(_) => None,
        }
    }

    /// The host keeps no queue of outputs that would be limited by it.
    fn charge(&self) -> u64 {
        0
    }

    fn introduced(&self, invocation: InvocationId) -> Vec<Introduced> {
        match &self.change {
            OutputChange::Put { first, streams, .. } => {
                Introduced::outputs(invocation, Owner::Item(self.stream, *first), streams)
            }
            OutputChange::End(_) | OutputChange::Drop(_) | OutputChange::Handed(_) => Vec::new(),
        }
    }

    fn cost(&self) -> usize {
        match &self.change {
            OutputChange::Put { item, streams, .. } => cost(item, streams.iter().map(|stream| &stream.element)),
            OutputChange::End(Terminal::Error { message, .. }) => message.len(),
            OutputChange::End(_) | OutputChange::Handed(_) => 0,
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
        let (id, fault) = (write.stream, |fault| refuse(RunError::Fault(write.stream, fault)));
        match &write.change {
            OutputChange::Put { first, item, .. } => {
                let output = find(transaction, shelf, id, Role::Output).await?;
                match output.terminal().map_err(refuse)? {
                    Some(_) => Err(fault(OutputFault::Ended)),
                    None if *first != output.next() => Err(fault(OutputFault::OutOfSequence)),
                    None => self.put(transaction, shelf, write, item).await,
                }
            }
            OutputChange::End(terminal) => {
                let output = find(transaction, shelf, id, Role::Output).await?;
                match output.terminal().map_err(refuse)? {
                    None => shelf.end(id, terminal),
                    Some(stored) if *terminal == stored => {}
                    Some(_) => return Err(fault(OutputFault::Ended)),
                }
                Ok(())
            }
            OutputChange::Drop(reason) => {
                let input = find(transaction, shelf, id, Role::Input).await?;
                if input.terminal().map_err(refuse)?.is_none() {
                    // Without the mark, which is that of whoever writes the input.
                    input.end(&Terminal::CancelledByServer(reason.clone()));
                }
                Ok(())
            }
            OutputChange::Handed(volume) => {
                // Without a look at the input, so that it does not conflict with what the client writes.
                transaction.set(&self.put.keys.reader(id), &volume.to_row().encode_to_vec());
                Ok(())
            }
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
        shelf.store(transaction, write.stream, (item, write.charge()), &streams)
    }
}

/// A stream that goes this way.
async fn find<'s>(
    transaction: &mut Transaction,
    shelf: &'s mut Shelf<'_>,
    id: StreamId,
    role: Role,
) -> Result<&'s mut Shelved, TransactError<RunError>> {
    let stream = shelf.stream(transaction, id).await?;
    let stream = stream.filter(|stream| stream.is_output() == (role == Role::Output));
    stream.ok_or_else(|| refuse(RunError::Fault(id, OutputFault::Absent)))
}
