//! What a client has sent that is not yet durable (protocol.md sections 10, 13 and 18).

use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use journal::invocations::{Comparison, FrameItem, InputChange, InputOutcome, InputWrite, Lease, LeaseError};
use journal::invocations::{MAX_PUT_BYTES, NewInput, StreamId};
use journal::{Journal, JournalError};
use stream_session::Refusal;
use stream_session::binary::BinaryItems;
use stream_session::graph::Graph;
use stream_session::json;
use stream_session::message::ClientReason;
use stream_session::server::{InputItem, NestedInput};

/// Charges of input that is not acknowledged, above which nothing more is read (section 18).
const MOST_UNACKNOWLEDGED: u64 = 16 << 20;
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
    charge: u64,
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

/// Requests in their order.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: VecDeque<Request>,
    /// What waits, and what is being done.
    unacknowledged: u64,
}

impl Inbox {
    pub(super) fn push(&mut self, request: Request) {
        self.unacknowledged += request.charge();
        self.waiting.push_back(request);
    }

    /// Whether the client must wait.
    pub(super) fn is_full(&self) -> bool {
        self.unacknowledged >= MOST_UNACKNOWLEDGED
    }

    /// Nobody will be told of what waits.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
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

    /// The charges of what was done are free again.
    pub(super) fn settle(&mut self, done: &Done) {
        let charge = match done {
            Done::Changed(changes, _) => changes.iter().map(|change| change.charge).sum(),
            Done::Compared(item, _) => item.charge,
            Done::CancelledOutput(_) => 0,
        };
        self.unacknowledged = self.unacknowledged.saturating_sub(charge);
    }
}

/// What is done at once.
enum Batch {
    Changes(Vec<Change>),
    Compare(Item),
    CancelOutput(StreamId, ClientReason),
}

impl Request {
    fn charge(&self) -> u64 {
        match self {
            Self::Change(change) => change.charge,
            Self::Compare(item) => item.charge,
            Self::CancelOutput(..) => 0,
        }
    }
}

impl Change {
    pub(super) fn put(item: Item, graph: &Graph) -> Self {
        let Item { stream, first, item, nested, charge } = item;
        let through = first + item.count();
        let streams = nested.iter().map(|nested| new_input(nested, graph)).collect();
        let write = InputWrite { stream, change: InputChange::Put { first, item, streams } };
        Self { write, told: Told::Item { through, nested }, charge }
    }

    pub(super) fn end(stream: StreamId, sequence: u64) -> Self {
        Self { write: InputWrite { stream, change: InputChange::End(sequence) }, told: Told::End, charge: 0 }
    }

    pub(super) fn cancel(stream: StreamId, reason: ClientReason) -> Self {
        let change = InputChange::Cancel(reason.as_str().to_owned());
        Self { write: InputWrite { stream, change }, told: Told::Cancel(reason), charge: 0 }
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
