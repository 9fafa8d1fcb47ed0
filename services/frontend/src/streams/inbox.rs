//! What a client has sent that is not yet durable (protocol.md sections 10, 13 and 18).

mod queues;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use journal::invocations::{Comparison, FrameItem, InputChange, InputOutcome, InputWrite, Lease, LeaseError};
use journal::invocations::{MAX_PUT_BYTES, NewInput, StreamId, Volume};
use journal::{Journal, JournalError};
use stream_session::Refusal;
use stream_session::binary::BinaryItems;
use stream_session::graph::Graph;
use stream_session::json;
use stream_session::message::ClientReason;
use stream_session::server::{InputItem, NestedInput};
use tokio::time::Instant;

pub(super) use queues::Queues;

/// Bytes of input that is not acknowledged, above which nothing more is read while the journal keeps up (section 18).
const MOST_UNACKNOWLEDGED: u64 = 16 << 20;
/// The same while something is held back: the client is heard on, because what follows may be a cancel or a ping (L6).
const MOST_STAGED: u64 = 64 << 20;
/// What a request takes beside its content, which may be next to nothing.
const REQUEST_BYTES: u64 = 256;
/// Pauses before a write is tried again that may or may not have succeeded. Doing it twice changes nothing.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];

/// Something to be done in the journal, in the order in which the client asked for it.
#[derive(Debug)]
pub(super) enum Request {
    Change(Change),
    Compare(Item),
    CancelOutput(StreamId, ClientReason),
}

/// A change of an input, and what the client is told once it is durable.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) write: InputWrite,
    pub(super) told: Told,
}

/// See [`Change`].
#[derive(Debug)]
pub(super) enum Told {
    /// The sequence after the item, and the streams that it introduces.
    Item {
        through: u64,
        nested: Vec<NestedInput>,
    },
    End,
    Cancel(ClientReason),
}

/// An item of an input.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) stream: StreamId,
    pub(super) first: u64,
    pub(super) item: FrameItem,
    pub(super) nested: Vec<NestedInput>,
    charge: u64,
}

/// What was done.
#[derive(Debug)]
pub(super) enum Done {
    Changed(Vec<Change>, Result<Vec<InputOutcome>, LeaseError>),
    Compared(Item, Result<Comparison, JournalError>),
    CancelledOutput(Result<(), LeaseError>),
}

/// Requests in their order, which holds within each stream.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    queues: Queues,
    /// What can be done now.
    waiting: VecDeque<Request>,
    /// Bytes of what is held back, of what waits and of what is being done.
    staged: u64,
}

impl Inbox {
    /// An inbox for inputs that are so far.
    pub(super) fn new(queues: Queues) -> Self {
        Self { queues, waiting: VecDeque::new(), staged: 0 }
    }

    pub(super) fn push(&mut self, request: Request) {
        self.staged += request.size();
        let admitted = match request.input() {
            Some(input) => {
                if request.is_cancel() {
                    self.drop_held(input);
                }
                self.queues.admit(input, request)
            }
            None => Some(request),
        };
        self.waiting.extend(admitted);
    }

    /// The agent was handed so much of an input.
    pub(super) fn hand(&mut self, input: StreamId, handed: Volume) {
        self.waiting.extend(self.queues.hand(input, handed));
    }

    /// What is held back of an input is of no use any more (Q1, I8).
    pub(super) fn drop_held(&mut self, input: StreamId) {
        let dropped: u64 = self.queues.drop_held(input).iter().map(Request::size).sum();
        self.staged = self.staged.saturating_sub(dropped);
    }

    /// Whether the client must wait.
    pub(super) fn is_full(&self) -> bool {
        self.staged >= if self.queues.hold() { MOST_STAGED } else { MOST_UNACKNOWLEDGED }
    }

    /// Since when an item waits for its agent to take others.
    pub(super) fn held_since(&self) -> Option<Instant> {
        self.queues.held_since()
    }

    /// Nobody will be told of what waits.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.queues.clear();
    }

    /// What is to be done next: all changes that have come since the last were begun, as far as one transaction takes them.
    pub(super) fn next(&mut self, journal: &Journal, lease: &Lease) -> Option<impl Future<Output = Done> + use<>> {
        let batch = match self.waiting.pop_front()? {
            Request::Change(first) => Batch::Changes(self.with_followers(first)),
            Request::Compare(item) => Batch::Compare(item),
            Request::CancelOutput(stream, reason) => Batch::CancelOutput(stream, reason),
        };
        Some(perform(journal.clone(), lease.clone(), batch))
    }

    /// A change together with those that directly follow.
    fn with_followers(&mut self, first: Change) -> Vec<Change> {
        let mut bytes = first.size();
        let mut changes = vec![first];
        while let Some(Request::Change(next)) = self.waiting.front() {
            bytes += next.size();
            if bytes > MAX_PUT_BYTES {
                break;
            }
            if let Some(Request::Change(next)) = self.waiting.pop_front() {
                changes.push(next);
            }
        }
        changes
    }

    /// The room of what was done is free again.
    pub(super) fn settle(&mut self, done: &Done) {
        let size = match done {
            Done::Changed(changes, _) => changes.iter().map(Change::staged).sum(),
            Done::Compared(item, _) => staged(&item.item, item.charge),
            Done::CancelledOutput(_) => REQUEST_BYTES,
        };
        self.staged = self.staged.saturating_sub(size);
    }
}

/// What is done at once.
enum Batch {
    Changes(Vec<Change>),
    Compare(Item),
    CancelOutput(StreamId, ClientReason),
}

impl Request {
    /// The input whose order it keeps.
    fn input(&self) -> Option<StreamId> {
        match self {
            Self::Change(change) => Some(change.write.stream),
            Self::Compare(item) => Some(item.stream),
            Self::CancelOutput(..) => None,
        }
    }

    /// What it adds to the queue of its input, as that is charged, if it is an item.
    fn accepts(&self) -> Option<u64> {
        match self {
            Self::Change(Change { write: InputWrite { change: InputChange::Put { charge, .. }, .. }, .. }) => {
                Some(*charge)
            }
            Self::Change(_) | Self::Compare(_) | Self::CancelOutput(..) => None,
        }
    }

    fn is_cancel(&self) -> bool {
        matches!(self, Self::Change(Change { told: Told::Cancel(_), .. }))
    }

    /// Bytes that it takes until it is done.
    fn size(&self) -> u64 {
        match self {
            Self::Change(change) => change.staged(),
            Self::Compare(item) => staged(&item.item, item.charge),
            Self::CancelOutput(..) => REQUEST_BYTES,
        }
    }
}

impl Change {
    pub(super) fn put(item: Item, graph: &Graph) -> Self {
        let Item { stream, first, item, nested, charge } = item;
        let through = first + item.count();
        let streams = nested.iter().map(|nested| new_input(nested, graph)).collect();
        let write = InputWrite { stream, change: InputChange::Put { first, item, charge, streams } };
        Self { write, told: Told::Item { through, nested } }
    }

    pub(super) fn end(stream: StreamId, sequence: u64) -> Self {
        Self { write: InputWrite { stream, change: InputChange::End(sequence) }, told: Told::End }
    }

    pub(super) fn cancel(stream: StreamId, reason: ClientReason) -> Self {
        let change = InputChange::Cancel(reason.as_str().to_owned());
        Self { write: InputWrite { stream, change }, told: Told::Cancel(reason) }
    }

    fn staged(&self) -> u64 {
        match &self.write.change {
            InputChange::Put { item, charge, .. } => staged(item, *charge),
            InputChange::End(_) | InputChange::Cancel(_) => REQUEST_BYTES,
        }
    }

    fn size(&self) -> usize {
        match &self.write.change {
            InputChange::Put { item, .. } => item.size(),
            InputChange::End(_) | InputChange::Cancel(_) => 0,
        }
    }
}

impl Item {
    /// An item as it is stored.
    ///
    /// # Errors
    /// `resource-exhausted`, if it is too large.
    pub(super) fn new(stream: StreamId, first: u64, item: InputItem) -> Result<Self, Refusal> {
        Ok(match item {
            InputItem::Value(value, nested) => {
                let charge = value.charge()?;
                Self { stream, first, item: FrameItem::Value(value.canonical()), nested, charge }
            }
            InputItem::Binary(items) => {
                let charge = items.charge()?;
                let item = match items {
                    BinaryItems::Packed(bytes) => FrameItem::Octets(bytes),
                    BinaryItems::Whole { data, mime_type: mime } => FrameItem::Binary { data, mime },
                };
                Self { stream, first, item, nested: Vec::new(), charge }
            }
        })
    }
}

/// Bytes that an item takes until it is durable. The text of a value may be longer than what it is charged.
fn staged(item: &FrameItem, charge: u64) -> u64 {
    REQUEST_BYTES + charge.max(item.size() as u64)
}

/// A stream as the journal takes it: its type is one of `graph`.
pub(super) fn new_input(nested: &NestedInput, graph: &Graph) -> NewInput {
    NewInput {
        provisional: nested.provisional,
        element: json::canonical(&nested.element.to_json()),
        fingerprint: graph.fingerprint(Some(&nested.element)),
    }
}

async fn perform(journal: Journal, lease: Lease, batch: Batch) -> Done {
    match batch {
        Batch::Changes(changes) => {
            let writes: Vec<_> = changes.iter().map(|change| change.write.clone()).collect();
            let outcomes = insist(|| journal.put_inputs(&lease, writes.clone())).await;
            Done::Changed(changes, outcomes)
        }
        Batch::CancelOutput(stream, reason) => {
            Done::CancelledOutput(insist(|| journal.cancel_output(&lease, stream, reason.as_str())).await)
        }
        Batch::Compare(item) => {
            let (session, invocation) = (lease.session(), lease.invocation());
            let compared = journal.compare_input(session, invocation, item.stream, item.first, &item.item).await;
            Done::Compared(item, compared)
        }
    }
}

/// Does something, again and again while it is not known whether it was done, or the journal fails.
pub(super) async fn insist<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, LeaseError>
where
    F: Future<Output = Result<T, LeaseError>>,
{
    for pause in PAUSES {
        match attempt().await {
            Err(LeaseError::Unknown | LeaseError::Journal(_)) => tokio::time::sleep(pause).await,
            settled => return settled,
        }
    }
    attempt().await
}
