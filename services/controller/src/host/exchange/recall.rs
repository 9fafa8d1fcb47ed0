//! What an earlier run recorded of outputs, read along with what the harness sends again.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use journal::invocations::{Frame, FrameItem, InvocationId, StreamId};
use journal::{Journal, JournalError, SessionUid};

/// Bytes of a stream that are read at once.
const PIECE: usize = 1 << 20;

/// See the module. Streams are compared from their beginnings.
pub(super) struct Recall {
    journal: Journal,
    session: SessionUid,
    invocation: InvocationId,
    streams: HashMap<StreamId, Recorded>,
}

/// A stream as far as it has been compared.
#[derive(Default)]
struct Recorded {
    /// The sequence that is compared next.
    next: u64,
    /// Read, and not compared.
    ahead: VecDeque<Frame>,
}

impl Recall {
    pub(super) fn new(journal: Journal, session: SessionUid, invocation: InvocationId) -> Self {
        Self { journal, session, invocation, streams: HashMap::new() }
    }

    /// Whether the next item of a stream is this one.
    pub(super) async fn agrees(&mut self, stream: StreamId, item: &FrameItem) -> Result<bool, JournalError> {
        match item {
            FrameItem::Octets(octets) => self.octets_agree(stream, octets).await,
            FrameItem::Value(_) | FrameItem::Binary { .. } => {
                let recorded = self.front(stream).await?;
                let agrees = recorded.ahead.pop_front().is_some_and(|frame| frame.item == *item);
                recorded.next += 1;
                Ok(agrees)
            }
        }
    }

    /// How octets were divided does not matter.
    async fn octets_agree(&mut self, stream: StreamId, mut octets: &[u8]) -> Result<bool, JournalError> {
        while !octets.is_empty() {
            let recorded = self.front(stream).await?;
            let Some(known) = recorded.ahead.front_mut().and_then(|frame| octets_of(&mut frame.item)) else {
                return Ok(false);
            };
            let length = known.len().min(octets.len());
            let (now, later) = octets.split_at(length);
            if known.split_to(length) != now {
                return Ok(false);
            }
            if known.is_empty() {
                recorded.ahead.pop_front();
            }
            recorded.next += length as u64;
            octets = later;
        }
        Ok(true)
    }

    /// A stream of which the next frame has been read, if there is one.
    async fn front(&mut self, stream: StreamId) -> Result<&mut Recorded, JournalError> {
        let recorded = self.streams.entry(stream).or_default();
        if recorded.ahead.is_empty() {
            let Self { journal, session, invocation, .. } = self;
            let frames = journal.frames(session, *invocation, stream, recorded.next, PIECE).await?;
            recorded.ahead = frames.into();
        }
        Ok(recorded)
    }
}

fn octets_of(item: &mut FrameItem) -> Option<&mut Bytes> {
    match item {
        FrameItem::Octets(octets) => Some(octets),
        FrameItem::Value(_) | FrameItem::Binary { .. } => None,
    }
}
