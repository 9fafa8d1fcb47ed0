//! What a stream carries at once, and how it is stored: frames that follow each other in one row as far as they fit, and a
//! frame that does not fit into one in pieces.

use std::mem;
use std::ops::Range;

use bytes::Bytes;
use prost::{Message, length_delimiter_len};
use store::{Isolation, RangeRead, TransactError, Transaction, limits};

use super::StreamId;
use crate::Corrupt;
use crate::error::refuse;
use crate::keys::{FramesKey, InvocationKeys};
use crate::pieces::Joiner;
use crate::rows::{BinaryRow, FrameRow, FramesRow, ItemKind, decode_uuid};

const CORRUPT: Corrupt = Corrupt { what: "frame" };
/// Most rows of a page that costs no switch of threads.
const PAGE_ROWS: usize = 16;

/// An item, or a batch of u8 as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The sequence of the item, or of the first byte.
    pub first: u64,
    /// What it carries.
    pub item: FrameItem,
    /// The streams that it introduced, in document order.
    pub streams: Vec<StreamId>,
    /// What it is charged in the queue of an input, in bytes (schema.md 6 and B5); 0 of an output.
    pub charge: u64,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameItem {
    /// A value in normal form. Inputs are named in it by the client's provisional references, outputs by their
    /// [`StreamId`].
    Value(String),
    /// Bytes, each of which is an item; at least one.
    Octets(Bytes),
    /// A binary item.
    Binary {
        /// Its content.
        data: Bytes,
        /// Its type.
        mime: Option<String>,
    },
}

impl Frame {
    /// The sequence after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.item.count())
    }

    fn read(first: u64, row: FrameRow) -> Result<Self, Corrupt> {
        let item = match row.item.ok_or(CORRUPT)? {
            ItemKind::Value(text) => FrameItem::Value(text),
            ItemKind::Octets(octets) => FrameItem::Octets(octets),
            ItemKind::Binary(BinaryRow { data, mime }) => FrameItem::Binary { data, mime },
        };
        let stream = |bytes: &Vec<u8>| decode_uuid(CORRUPT.what, bytes).map(StreamId::new);
        Ok(Self { first, item, streams: row.streams.iter().map(stream).collect::<Result<_, _>>()?, charge: row.charge })
    }
}

impl FrameItem {
    /// How many items of the stream it is.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Octets(octets) => octets.len() as u64,
            Self::Value(_) | Self::Binary { .. } => 1,
        }
    }

    /// Its size, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Value(text) => text.len(),
            Self::Octets(octets) => octets.len(),
            Self::Binary { data, mime } => data.len() + mime.as_ref().map_or(0, String::len),
        }
    }

    pub(super) fn to_row(&self, streams: &[StreamId], charge: u64) -> FrameRow {
        let item = match self.clone() {
            Self::Value(text) => ItemKind::Value(text),
            Self::Octets(octets) => ItemKind::Octets(octets),
            Self::Binary { data, mime } => ItemKind::Binary(BinaryRow { data, mime }),
        };
        let streams = streams.iter().map(|id| id.as_uuid().into_bytes().to_vec()).collect();
        FrameRow { item: Some(item), streams, charge }
    }
}

/// Collects the frames of one stream, in order, and packs them into rows.
#[derive(Debug, Default)]
pub(super) struct Packer {
    open: OpenRow,
    full: Vec<Packed>,
}

/// Frames in one value, which may be too large for a row.
#[derive(Debug)]
pub(super) struct Packed {
    /// The sequence of the first of them.
    pub(super) first: u64,
    pub(super) value: Bytes,
}

#[derive(Debug, Default)]
struct OpenRow {
    first: u64,
    frames: FramesRow,
    size: usize,
}

impl Packer {
    /// Adds the frame that follows.
    pub(super) fn push(&mut self, first: u64, frame: FrameRow) {
        let size = frame.encoded_len();
        let size = 1 + length_delimiter_len(size) + size;
        if self.open.size + size > limits::VALUE_BYTES {
            self.close();
        }
        if self.open.frames.frames.is_empty() {
            self.open.first = first;
        }
        self.open.size += size;
        self.open.frames.frames.push(frame);
    }

    /// What there is to be written.
    pub(super) fn take(&mut self) -> Vec<Packed> {
        self.close();
        mem::take(&mut self.full)
    }

    fn close(&mut self) {
        let open = mem::take(&mut self.open);
        if !open.frames.frames.is_empty() {
            self.full.push(Packed { first: open.first, value: open.frames.encode_to_vec().into() });
        }
    }
}

/// The frames of a stream that cover a range of sequences, up to the one that reaches `max_bytes`.
pub(super) async fn read_frames<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
    stream: StreamId,
    range: Range<u64>,
    max_bytes: usize,
) -> Result<Vec<Frame>, TransactError<E>> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let mut window = Window { from: range.start, left: max_bytes, joiner: Joiner::default(), frames: Vec::new() };
    let mut rest = Some(read(keys, stream, range.clone(), max_bytes));
    let mut located = false;
    while let Some(read_page) = rest {
        let page = transaction.get_range(&read_page, Isolation::Snapshot).await?;
        rest = read_page.after(&page);
        let first = page.rows.first().and_then(|row| FramesKey::decode(&row.key));
        if !mem::replace(&mut located, true) && first.is_none_or(|key| key.first != range.start) {
            // The frame begins in an earlier row. Who reads on from where he was does not come here.
            let first = first_of_row(transaction, keys, stream, range.start).await?;
            rest = Some(read(keys, stream, first..range.end, max_bytes));
            continue;
        }
        for row in page.rows {
            let key = FramesKey::decode(&row.key).ok_or_else(|| refuse(CORRUPT))?;
            let value = window.joiner.push(key.first, key.piece, row.value).map_err(|_| refuse(CORRUPT))?;
            let Some(value) = value else { continue };
            if window.take(key.first, value).map_err(refuse)? {
                return Ok(window.frames);
            }
        }
    }
    if window.joiner.is_within() || window.frames.is_empty() { Err(refuse(CORRUPT)) } else { Ok(window.frames) }
}

fn read(keys: &InvocationKeys, stream: StreamId, range: Range<u64>, max_bytes: usize) -> RangeRead {
    let read = RangeRead::forward(keys.frames_within(stream, range.start, range.end)).limit(PAGE_ROWS);
    RangeRead { byte_limit: read.byte_limit.min(max_bytes.max(1)), ..read }
}

/// The sequence under which the row stands that holds an item.
async fn first_of_row<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
    stream: StreamId,
    sequence: u64,
) -> Result<u64, TransactError<E>> {
    let read = RangeRead::backward(keys.frames_up_to(stream, sequence)).limit(1);
    let page = transaction.get_range(&read, Isolation::Snapshot).await?;
    let key = page.rows.first().and_then(|row| FramesKey::decode(&row.key));
    key.map(|key| key.first).ok_or_else(|| refuse(CORRUPT))
}

/// What a read has found.
struct Window {
    from: u64,
    /// How many bytes are still asked for.
    left: usize,
    joiner: Joiner<u64>,
    frames: Vec<Frame>,
}

impl Window {
    /// Takes the frames of a row, and tells whether that is all that was asked for.
    fn take(&mut self, first: u64, value: Bytes) -> Result<bool, Corrupt> {
        let row = FramesRow::decode(value).map_err(|_| CORRUPT)?;
        let mut next = first;
        for frame in row.frames {
            let frame = Frame::read(next, frame)?;
            next = frame.end();
            if next <= self.from {
                continue;
            }
            self.left = self.left.saturating_sub(frame.item.size());
            self.frames.push(frame);
            if self.left == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
