//! The keys of invocations: those of a session's rows, and the families by which they are found.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use store::KeyRange;
use uuid::Uuid;

use super::{
    ATTEMPT, FINISHED, HEARTBEAT, HELD, INSTANCE, INSTANCE_OF, INVOCATION, Piece, QUEUE, RUN, RUNNER, SessionKeys,
    TOKEN_KEY, Tuple, TupleReader, USED, family,
};
use crate::invocations::{InvocationId, StreamId};
use crate::{Incarnation, SessionUid};

/// Rows of an invocation: the element after its id.
const START: u64 = 0;
const ATTACHMENT: u64 = 1;
const PROGRESS: u64 = 2;
const RESULT: u64 = 3;
const STREAM_COUNT: u64 = 4;
const ATTEMPTS: u64 = 5;
const STREAM: u64 = 6;
const STREAM_STATE: u64 = 7;
const READER: u64 = 8;
const DELIVERED: u64 = 9;
const FRAMES: u64 = 10;

/// How many ranges the finished invocations are spread over, so that not all that finish are written next to each other.
pub(crate) const FINISHED_SHARDS: u64 = 16;

/// Which session is the agent instance of this digest.
pub(crate) fn instance_of(digest: &[u8; 32]) -> Bytes {
    family(INSTANCE_OF).bytes(digest).key()
}

/// What was accepted as this attempt.
pub(crate) fn attempt(account: &str, id: Uuid) -> Bytes {
    family(ATTEMPT).text(account).uuid(id).key()
}

/// The row that a node moves as long as it lives.
pub(crate) fn heartbeat(node: Incarnation) -> Bytes {
    family(HEARTBEAT).uint(node.number()).key()
}

/// Those of all nodes.
pub(crate) fn heartbeats() -> KeyRange {
    KeyRange::new(family(HEARTBEAT).key(), family(HEARTBEAT).end())
}

/// Says that `node` drives the queue of a session; that nobody does, though there is something in it, if there is none.
pub(crate) fn run(node: Option<Incarnation>, uid: &SessionUid) -> Bytes {
    runs_of(node).text(uid.as_str()).key()
}

/// The sessions whose queues `node` drives, or nobody: those after `after` if there is one.
pub(crate) fn runs(node: Option<Incarnation>, after: Option<&SessionUid>) -> KeyRange {
    let begin = after.map_or_else(|| runs_of(node).key(), |uid| runs_of(node).text(uid.as_str()).end());
    KeyRange::new(begin, runs_of(node).end())
}

fn runs_of(node: Option<Incarnation>) -> Tuple {
    family(RUN).uint(node.map_or(0, Incarnation::number))
}

/// Says that `node` holds the attachment of an invocation.
pub(crate) fn held(node: Incarnation, uid: &SessionUid, invocation: InvocationId) -> Bytes {
    family(HELD).uint(node.number()).text(uid.as_str()).uuid(invocation.as_uuid()).key()
}

/// The invocations whose attachments `node` holds, those after `after` if there is one.
pub(crate) fn held_by(node: Incarnation, after: Option<(SessionUid, InvocationId)>) -> KeyRange {
    let rows = family(HELD).uint(node.number());
    let begin = match after {
        Some((uid, invocation)) => KeyRange::single(&held(node, &uid, invocation)).end,
        None => rows.clone().key(),
    };
    KeyRange::new(begin, rows.end())
}

/// What nodes drive, and what they hold.
pub(crate) fn busy_nodes() -> [KeyRange; 2] {
    // What nobody drives comes before what the first node drives.
    [RUN, HELD].map(|rows| KeyRange::new(family(rows).uint(0).end(), family(rows).end()))
}

/// The end of the rows of the node whose row a key of [`busy_nodes`] is.
pub(crate) fn after_node(key: &[u8]) -> Option<Bytes> {
    let mut reader = TupleReader::new(key);
    reader.skip_text()?;
    let rows = reader.uint()?;
    Some(family(rows).uint(reader.uint()?).end())
}

/// Reads the node of a key of [`heartbeats`], [`runs`], [`held_by`] or [`busy_nodes`].
pub(crate) fn decode_node(key: &[u8]) -> Option<Incarnation> {
    node_of(&mut TupleReader::new(key))
}

/// Reads the session of a key of [`runs`].
pub(crate) fn decode_run(key: &[u8]) -> Option<SessionUid> {
    let mut reader = TupleReader::new(key);
    node_of(&mut reader);
    SessionUid::parse(&reader.text()?).ok().filter(|_| reader.is_empty())
}

/// Reads a key of [`held_by`].
pub(crate) fn decode_held(key: &[u8]) -> Option<(SessionUid, InvocationId)> {
    let mut reader = TupleReader::new(key);
    node_of(&mut reader)?;
    let uid = SessionUid::parse(&reader.text()?).ok()?;
    let invocation = InvocationId::new(reader.uuid()?);
    reader.is_empty().then_some((uid, invocation))
}

fn node_of(reader: &mut TupleReader<'_>) -> Option<Incarnation> {
    reader.skip_text()?;
    reader.uint()?;
    Incarnation::from_number(reader.uint()?)
}

/// The key that tokens are signed with where the operator gives none.
pub(crate) fn token_key() -> Bytes {
    family(TOKEN_KEY).key()
}

/// A finished invocation, by when it finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Unix seconds.
    pub(crate) time: u64,
    pub(crate) session: SessionUid,
    pub(crate) invocation: InvocationId,
}

impl Finished {
    pub(crate) fn key(&self) -> Bytes {
        let shard = u64::from(self.invocation.as_uuid().as_bytes()[0]) % FINISHED_SHARDS;
        let of_time = family(FINISHED).uint(shard).uint(self.time);
        of_time.text(self.session.as_str()).uuid(self.invocation.as_uuid()).key()
    }

    /// Those of one shard that finished before `time`, in Unix seconds.
    pub(crate) fn before(shard: u64, time: u64) -> KeyRange {
        let of_shard = family(FINISHED).uint(shard);
        KeyRange::new(of_shard.clone().key(), of_shard.uint(time).key())
    }

    /// Reads a key of [`before`](Self::before).
    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        let mut reader = TupleReader::new(key);
        reader.skip_text()?;
        reader.uint()?;
        reader.uint()?;
        let time = reader.uint()?;
        let session = SessionUid::parse(&reader.text()?).ok()?;
        let invocation = InvocationId::new(reader.uuid()?);
        reader.is_empty().then_some(Self { time, session, invocation })
    }
}

impl SessionKeys {
    /// What makes the session an agent instance. Never changes.
    pub(crate) fn instance(&self) -> Bytes {
        self.rows.clone().uint(INSTANCE).key()
    }

    /// Who drives the queue.
    pub(crate) fn runner(&self) -> Bytes {
        self.rows.clone().uint(RUNNER).key()
    }

    /// Where the queue goes on.
    pub(crate) fn queue_end(&self) -> Bytes {
        self.rows.clone().uint(QUEUE).key()
    }

    /// A place in the queue.
    pub(crate) fn queued(&self, order: u64) -> Bytes {
        self.rows.clone().uint(QUEUE).uint(order).key()
    }

    /// The queue, in its order.
    pub(crate) fn queue(&self) -> KeyRange {
        KeyRange::new(self.queued(0), self.rows.clone().uint(QUEUE).end())
    }

    /// Says that the idempotency key of an invocation is used.
    pub(crate) fn used(&self, invocation: InvocationId) -> Bytes {
        self.rows.clone().uint(USED).uuid(invocation.as_uuid()).key()
    }

    /// The rows of an invocation.
    pub(crate) fn invocation(&self, invocation: InvocationId) -> InvocationKeys {
        InvocationKeys { rows: self.rows.clone().uint(INVOCATION).uuid(invocation.as_uuid()) }
    }

    /// The rows of all invocations.
    pub(crate) fn invocations(&self) -> KeyRange {
        let rows = self.rows.clone().uint(INVOCATION);
        KeyRange::new(rows.clone().key(), rows.end())
    }

    /// All that makes the session an agent instance, and all that its invocations have left.
    pub(crate) fn instance_rows(&self) -> KeyRange {
        KeyRange::new(self.instance(), self.rows.clone().uint(USED).end())
    }
}

/// The keys of one invocation.
#[derive(Clone, Debug)]
pub(crate) struct InvocationKeys {
    rows: Tuple,
}

impl InvocationKeys {
    fn row(&self, row: u64) -> Tuple {
        self.rows.clone().uint(row)
    }

    fn of_stream(&self, row: u64, stream: StreamId) -> Tuple {
        self.row(row).uuid(stream.as_uuid())
    }

    fn range(&self, row: u64) -> KeyRange {
        KeyRange::new(self.row(row).key(), self.row(row).end())
    }

    /// What it was started with; never changes. In pieces if it is large.
    pub(crate) fn start(&self, piece: Option<Piece>) -> Bytes {
        in_pieces(self.row(START), piece)
    }

    pub(crate) fn start_rows(&self) -> KeyRange {
        self.range(START)
    }

    pub(crate) fn attachment(&self) -> Bytes {
        self.row(ATTACHMENT).key()
    }

    /// How far it has come.
    pub(crate) fn progress(&self) -> Bytes {
        self.row(PROGRESS).key()
    }

    /// What the method returned; never changes. In pieces if it is large.
    pub(crate) fn result(&self, piece: Option<Piece>) -> Bytes {
        in_pieces(self.row(RESULT), piece)
    }

    pub(crate) fn result_rows(&self) -> KeyRange {
        self.range(RESULT)
    }

    /// The number of its streams.
    pub(crate) fn stream_count(&self) -> Bytes {
        self.row(STREAM_COUNT).key()
    }

    /// Says that an attempt belongs to the invocation.
    pub(crate) fn attempt(&self, attempt: Uuid) -> Bytes {
        self.row(ATTEMPTS).uuid(attempt).key()
    }

    pub(crate) fn attempts(&self) -> KeyRange {
        self.range(ATTEMPTS)
    }

    /// What a stream is; never changes.
    pub(crate) fn stream(&self, stream: StreamId) -> Bytes {
        self.of_stream(STREAM, stream).key()
    }

    pub(crate) fn streams(&self) -> KeyRange {
        self.range(STREAM)
    }

    /// How far a stream has come.
    pub(crate) fn stream_state(&self, stream: StreamId) -> Bytes {
        self.of_stream(STREAM_STATE, stream).key()
    }

    pub(crate) fn stream_states(&self) -> KeyRange {
        self.range(STREAM_STATE)
    }

    /// How far the streams have come, then what their readers say of them, then what was delivered of them.
    pub(crate) fn stream_progress(&self) -> KeyRange {
        KeyRange::new(self.row(STREAM_STATE).key(), self.row(DELIVERED).end())
    }

    /// What the reader of a stream says of it: why the client has no use for an output any more, or how much of an input the
    /// agent was handed.
    pub(crate) fn reader(&self, stream: StreamId) -> Bytes {
        self.of_stream(READER, stream).key()
    }

    /// How much of an output the client has.
    pub(crate) fn delivered(&self, stream: StreamId) -> Bytes {
        self.of_stream(DELIVERED, stream).key()
    }

    pub(crate) fn all_delivered(&self) -> KeyRange {
        self.range(DELIVERED)
    }

    /// Frames of a stream, under the sequence of the first of them. In pieces if a frame is large.
    pub(crate) fn frames(&self, stream: StreamId, first: u64, piece: Option<Piece>) -> Bytes {
        in_pieces(self.of_stream(FRAMES, stream).uint(first), piece)
    }

    /// The rows of frames of a stream whose first one is `from` or a later one.
    pub(crate) fn frames_from(&self, stream: StreamId, from: u64) -> KeyRange {
        KeyRange::new(self.frames(stream, from, None), self.of_stream(FRAMES, stream).end())
    }

    /// The rows of frames of a stream whose first one lies within `from..to`.
    pub(crate) fn frames_within(&self, stream: StreamId, from: u64, to: u64) -> KeyRange {
        KeyRange::new(self.frames(stream, from, None), self.frames(stream, to, None))
    }

    /// The rows of frames of a stream whose first one is `to` or an earlier one.
    pub(crate) fn frames_up_to(&self, stream: StreamId, to: u64) -> KeyRange {
        KeyRange::new(self.frames(stream, 0, None), self.of_stream(FRAMES, stream).uint(to).end())
    }

    /// Every row.
    pub(crate) fn all(&self) -> KeyRange {
        KeyRange::new(self.rows.clone().key(), self.rows.clone().end())
    }
}

fn in_pieces(rows: Tuple, piece: Option<Piece>) -> Bytes {
    match piece {
        None => rows.key(),
        Some(Piece { index, count }) => rows.uint(index).uint(count).key(),
    }
}

/// Reads what comes after the key of a value: nothing, or which piece of it a row is.
fn rest_of_pieces(mut reader: TupleReader<'_>) -> Option<Option<Piece>> {
    let piece = match reader.is_empty() {
        true => None,
        false => Some(Piece { index: reader.uint()?, count: reader.uint()? }),
    };
    reader.is_empty().then_some(piece)
}

/// Reads a key of [`InvocationKeys::start_rows`] or [`InvocationKeys::result_rows`].
pub(crate) fn decode_value_piece(key: &[u8]) -> Option<Option<Piece>> {
    rest_of_pieces(row_of_invocation(key)?)
}

/// What the key of a row of frames says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FramesKey {
    pub(crate) first: u64,
    /// `None` if the row holds whole frames.
    pub(crate) piece: Option<Piece>,
}

impl FramesKey {
    /// Reads a key of [`InvocationKeys::frames_from`].
    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        let mut reader = row_of_invocation(key)?;
        reader.uuid()?;
        let first = reader.uint()?;
        Some(Self { first, piece: rest_of_pieces(reader)? })
    }
}

/// What a row says of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfStream {
    State,
    Reader,
    Delivered,
}

impl OfStream {
    /// Reads a key of [`InvocationKeys::stream_progress`].
    pub(crate) fn decode(key: &[u8]) -> Option<(Self, StreamId)> {
        let mut reader = of_invocation(key)?;
        reader.uuid()?;
        let of = match reader.uint()? {
            STREAM_STATE => Self::State,
            READER => Self::Reader,
            DELIVERED => Self::Delivered,
            _ => return None,
        };
        let stream = StreamId::new(reader.uuid()?);
        reader.is_empty().then_some((of, stream))
    }
}

/// Reads a key of [`InvocationKeys::streams`].
pub(crate) fn decode_stream(key: &[u8]) -> Option<StreamId> {
    decode_last(key).map(StreamId::new)
}

/// Reads the attempt of a key of [`InvocationKeys::attempts`].
pub(crate) fn decode_attempt(key: &[u8]) -> Option<Uuid> {
    decode_last(key)
}

fn decode_last(key: &[u8]) -> Option<Uuid> {
    let mut reader = row_of_invocation(key)?;
    reader.uuid().filter(|_| reader.is_empty())
}

/// Passes over the elements down to the row.
fn row_of_invocation(key: &[u8]) -> Option<TupleReader<'_>> {
    let mut reader = of_invocation(key)?;
    reader.uuid()?;
    reader.uint()?;
    Some(reader)
}

/// Reads the invocation of a key of [`SessionKeys::invocations`].
pub(crate) fn decode_invocation(key: &[u8]) -> Option<InvocationId> {
    of_invocation(key)?.uuid().map(InvocationId::new)
}

fn of_invocation(key: &[u8]) -> Option<TupleReader<'_>> {
    let mut reader = TupleReader::new(key);
    reader.skip_text()?;
    reader.uint()?;
    reader.skip_text()?;
    reader.uint()?;
    Some(reader)
}
