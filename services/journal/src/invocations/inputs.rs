//! What the holder of an attachment writes (sections 10 and 13).

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use store::{Attempt, TransactError, Transaction};

use super::frame::read_frames;
use super::introduce::{Introduced, introduce};
use super::put::{Change, Put, Right, cost, divide_changes};
use super::shelf::Shelf;
use super::{FrameItem, InvocationId, Lease, LeaseError, NewInput, Owner, Role, Rule, StreamId, Terminal};
use crate::error::refuse;
use crate::keys::{InvocationKeys, SessionKeys};
use crate::metrics::METRICS;
use crate::{Corrupt, Journal, JournalError, SessionUid};

/// A change of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputWrite {
    /// The input.
    pub stream: StreamId,
    /// The change.
    pub change: InputChange,
}

/// See [`InputWrite`].
#[derive(Clone, Debug, PartialEq)]
pub enum InputChange {
    /// An item, or a batch of u8.
    Put {
        /// The sequence of the item, or of the first byte.
        first: u64,
        /// The item.
        item: FrameItem,
        /// What it is charged, in bytes (schema.md 6 and B5).
        charge: u64,
        /// The streams that it introduces, in document order.
        streams: Vec<NewInput>,
    },
    /// There are no more items; as many as this were sent.
    End(u64),
    /// The client gives the stream up, for this reason.
    Cancel(String),
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputOutcome {
    /// It is durable, now or from before.
    Stored {
        /// The streams that it introduced, in document order.
        streams: Vec<StreamId>,
    },
    /// The agent has given the stream up: nothing was stored, and nothing is acknowledged (I8).
    Dropped,
    /// It breaks a rule.
    Refused(Rule),
}

/// How a frame compares with what is stored in its range (I3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same range with the same content, which introduced these streams.
    Same(Vec<StreamId>),
    /// Other borders or other content.
    Different,
}

/// A put, shared by its attempts.
struct Inputs {
    put: Put<InputWrite>,
    invocation: InvocationId,
    /// What the last attempt came to: the answer, if the next one finds that it was committed.
    outcomes: Mutex<Vec<InputOutcome>>,
}

impl Journal {
    /// Changes inputs, in order. All is one transaction if it is no more than [`MAX_PUT_BYTES`](super::MAX_PUT_BYTES),
    /// otherwise several. Answers as many changes as were looked at: one that is refused is the last one, and nothing of
    /// it is stored.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub async fn put_inputs(&self, lease: &Lease, writes: Vec<InputWrite>) -> Result<Vec<InputOutcome>, LeaseError> {
        let mut outcomes = Vec::with_capacity(writes.len());
        for changes in divide_changes(writes)? {
            let put = self.prepare_put::<_, LeaseError>(Right::Holder(lease.clone()), changes).await?;
            let put = Arc::new(Inputs { put, invocation: lease.invocation, outcomes: Mutex::default() });
            let of_put = self
                .store
                .transact(|transaction, attempt| {
                    let put = Arc::clone(&put);
                    async move { put.write(transaction, attempt).await }.boxed()
                })
                .await?;
            outcomes.extend(of_put);
            if let Some(InputOutcome::Refused(_)) = outcomes.last() {
                break;
            }
            METRICS.put(Role::Input, put.put.bytes());
        }
        self.note_streams_changed(&lease.session);
        Ok(outcomes)
    }

    /// Compares an item below the high-water of an input with what was accepted.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn compare_input(
        &self,
        session: &SessionUid,
        invocation: InvocationId,
        stream: StreamId,
        first: u64,
        item: &FrameItem,
    ) -> Result<Comparison, JournalError> {
        let keys = SessionKeys::new(session).invocation(invocation);
        let end = first.saturating_add(item.count());
        let compared = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let (keys, item) = (keys.clone(), item.clone());
                async move {
                    let mut shelf = Shelf::new(&keys, 0, 0);
                    let next = shelf.stream(transaction, stream).await?.map_or(0, |shelved| shelved.next());
                    if end > next {
                        return Ok(Comparison::Different);
                    }
                    compare(transaction, &keys, stream, first, &item).await
                }
                .boxed()
            })
            .await?;
        Ok(compared)
    }
}

/// Compares an item that ends no later than its stream with what is stored.
async fn compare<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
    stream: StreamId,
    first: u64,
    item: &FrameItem,
) -> Result<Comparison, TransactError<E>> {
    let end = first.saturating_add(item.count());
    let stored = read_frames(transaction, keys, stream, first..end, 1).await?;
    Ok(match stored.into_iter().next() {
        Some(frame) if frame.first == first && frame.item == *item => Comparison::Same(frame.streams),
        _ => Comparison::Different,
    })
}

impl Change for InputWrite {
    fn stream(&self) -> StreamId {
        self.stream
    }

    fn item(&self) -> Option<(u64, &FrameItem)> {
        match &self.change {
            InputChange::Put { first, item, .. } => Some((*first, item)),
            InputChange::End(_) | InputChange::Cancel(_) => None,
        }
    }

    fn charge(&self) -> u64 {
        match self.change {
            InputChange::Put { charge, .. } => charge,
            InputChange::End(_) | InputChange::Cancel(_) => 0,
        }
    }

    fn introduced(&self, invocation: InvocationId) -> Vec<Introduced> {
        match &self.change {
            InputChange::Put { first, streams, .. } => {
                Introduced::inputs(invocation, Owner::Item(self.stream, *first), streams)
            }
            InputChange::End(_) | InputChange::Cancel(_) => Vec::new(),
        }
    }

    fn cost(&self) -> usize {
        match &self.change {
            InputChange::Put { item, streams, .. } => cost(item, streams.iter().map(|stream| &stream.element)),
            InputChange::End(_) => 0,
            InputChange::Cancel(reason) => reason.len(),
        }
    }
}

impl Inputs {
    async fn write(
        &self,
        transaction: &mut Transaction,
        attempt: Attempt,
    ) -> Result<Vec<InputOutcome>, TransactError<LeaseError>> {
        let Put { right, keys, changes, mark, staged } = &self.put;
        if !right.holds(transaction).await? {
            return Err(refuse(LeaseError::Lost));
        }
        let mut shelf = Shelf::new(keys, *mark, *staged);
        if attempt.maybe_committed && shelf.is_written(transaction, self.put.streams()).await? {
            return Ok(self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        let mut outcomes = Vec::with_capacity(changes.len());
        for write in changes {
            let outcome = self.change(transaction, &mut shelf, write).await?;
            let refused = matches!(outcome, InputOutcome::Refused(_));
            outcomes.push(outcome);
            if refused {
                break;
            }
        }
        shelf.write(transaction);
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&outcomes);
        Ok(outcomes)
    }

    async fn change(
        &self,
        transaction: &mut Transaction,
        shelf: &mut Shelf<'_>,
        write: &InputWrite,
    ) -> Result<InputOutcome, TransactError<LeaseError>> {
        let input = shelf.stream(transaction, write.stream).await?.filter(|stream| !stream.is_output());
        let Some(input) = input else { return Ok(InputOutcome::Refused(Rule::InvalidChannel)) };
        let (next, terminal) = (input.next(), input.terminal().map_err(refuse)?);
        match &write.change {
            InputChange::Put { first, item, .. } => {
                if let Some(outcome) = after_end(terminal.as_ref()) {
                    return Ok(outcome);
                }
                match first.cmp(&next) {
                    Ordering::Equal => self.put(transaction, shelf, write, item).await,
                    Ordering::Greater => Ok(InputOutcome::Refused(Rule::InputGap)),
                    Ordering::Less => self.repeat(transaction, shelf, write, next).await,
                }
            }
            InputChange::End(items) => Ok(end(shelf, write.stream, *items, next, terminal.as_ref())),
            InputChange::Cancel(reason) => Ok(cancel(shelf, write.stream, reason, terminal.as_ref())),
        }
    }

    async fn put(
        &self,
        transaction: &mut Transaction,
        shelf: &mut Shelf<'_>,
        write: &InputWrite,
        item: &FrameItem,
    ) -> Result<InputOutcome, TransactError<LeaseError>> {
        let introduced = write.introduced(self.invocation);
        if let Some(rule) = introduce(transaction, &self.put.keys, &introduced).await? {
            return Ok(InputOutcome::Refused(rule));
        }
        let streams: Vec<StreamId> = introduced.iter().map(|stream| stream.id).collect();
        shelf.store(transaction, write.stream, (item, write.charge()), &streams)?;
        Ok(InputOutcome::Stored { streams })
    }

    /// What begins before the end of the stream must be what is there.
    async fn repeat(
        &self,
        transaction: &mut Transaction,
        shelf: &mut Shelf<'_>,
        write: &InputWrite,
        next: u64,
    ) -> Result<InputOutcome, TransactError<LeaseError>> {
        let conflict = InputOutcome::Refused(Rule::InputConflict);
        let Some((first, item)) = write.item() else { return Ok(conflict) };
        if first.saturating_add(item.count()) > next {
            return Ok(conflict);
        }
        // It may be a repetition of what this very put has stored.
        shelf.write_frames(transaction, write.stream);
        Ok(match compare(transaction, &self.put.keys, write.stream, first, item).await? {
            Comparison::Same(streams) => InputOutcome::Stored { streams },
            Comparison::Different => conflict,
        })
    }
}

/// What becomes of an item after the end of its stream (I3).
fn after_end(terminal: Option<&Terminal>) -> Option<InputOutcome> {
    Some(match terminal? {
        Terminal::Ended | Terminal::Error { .. } | Terminal::CancelledByClient(_) => {
            InputOutcome::Refused(Rule::ProtocolError)
        }
        Terminal::CancelledByServer(_) => InputOutcome::Dropped,
    })
}

/// Ends an input after so many items (I6).
fn end(shelf: &mut Shelf<'_>, stream: StreamId, items: u64, next: u64, terminal: Option<&Terminal>) -> InputOutcome {
    let stored = InputOutcome::Stored { streams: Vec::new() };
    match (terminal, items.cmp(&next)) {
        (None, Ordering::Equal) => {
            shelf.end(stream, &Terminal::Ended);
            stored
        }
        (Some(Terminal::Ended), Ordering::Equal) => stored,
        (None, Ordering::Greater) => InputOutcome::Refused(Rule::InputGap),
        (None | Some(Terminal::Ended), _) => InputOutcome::Refused(Rule::InputConflict),
        (Some(Terminal::CancelledByServer(_)), _) => InputOutcome::Dropped,
        (Some(Terminal::Error { .. } | Terminal::CancelledByClient(_)), _) => {
            InputOutcome::Refused(Rule::ProtocolError)
        }
    }
}

/// Cancels an input (Q1, Q2).
fn cancel(shelf: &mut Shelf<'_>, stream: StreamId, reason: &str, terminal: Option<&Terminal>) -> InputOutcome {
    match terminal {
        None => {
            shelf.end(stream, &Terminal::CancelledByClient(reason.to_owned()));
            InputOutcome::Stored { streams: Vec::new() }
        }
        Some(Terminal::CancelledByServer(_)) => InputOutcome::Dropped,
        Some(_) => InputOutcome::Refused(Rule::InvalidChannel),
    }
}
