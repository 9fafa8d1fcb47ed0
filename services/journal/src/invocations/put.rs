//! Changing streams: what inputs and outputs have in common.
//!
//! A put is one transaction, if it is not too large for one. An item that is too large for one has all but its last
//! pieces written before, beyond the end of its stream, where nobody reads. The transaction that moves the end makes it
//! an item. Pieces that were left behind are removed by the next put.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use store::{TransactError, Transaction};

use super::frame::Packer;
use super::introduce::Introduced;
use super::runs::is_running;
use super::{FrameItem, InvocationId, Lease, MAX_ITEM_BYTES, MAX_PUT_BYTES, Run, StreamId};
use crate::error::check;
use crate::keys::{InvocationKeys, Piece, SessionKeys};
use crate::pieces::divide;
use crate::rows::{Kept, StreamStateRow};
use crate::{Corrupt, Journal, TooLarge};

/// How many pieces are written in one transaction.
const PIECES: usize = 40;
/// What a change costs beside its item: rows of a stream that nothing else in the put changes, as a transaction counts them.
const CHANGE_BYTES: usize = 1_500;
/// What a stream costs that is introduced, beside its type.
const STREAM_BYTES: usize = 2_048;

/// What entitles somebody to change streams.
#[derive(Clone)]
pub(super) enum Right {
    Holder(Lease),
    Runner(Run, InvocationId),
}

/// A change of a stream.
pub(super) trait Change {
    fn stream(&self) -> StreamId;

    /// The item that it adds, and where.
    fn item(&self) -> Option<(u64, &FrameItem)>;

    /// What this item is charged in the queue of its stream.
    fn charge(&self) -> u64;

    /// The streams that this item introduces in `invocation`.
    fn introduced(&self, invocation: InvocationId) -> Vec<Introduced>;

    /// How many bytes it takes of a transaction, about, beside what every change takes.
    fn cost(&self) -> usize;
}

/// Some changes that one transaction can make, with the item of the first in pieces if it is too large.
pub(super) struct Put<C> {
    pub(super) right: Right,
    pub(super) keys: InvocationKeys,
    pub(super) changes: Vec<C>,
    /// Tells this put from all others.
    pub(super) mark: u64,
    /// How many pieces of the only item are written already.
    pub(super) staged: usize,
}

/// A frame that is too large for one transaction.
struct LargeFrame {
    right: Right,
    keys: InvocationKeys,
    mark: u64,
    stream: StreamId,
    first: u64,
    pieces: Vec<(Option<Piece>, Bytes)>,
}

/// The cost of an item that introduces streams of these types.
pub(super) fn cost<'e>(item: &FrameItem, elements: impl Iterator<Item = &'e String>) -> usize {
    item.size() + elements.map(|element| STREAM_BYTES + element.len()).sum::<usize>()
}

/// Divides changes into puts.
pub(super) fn divide_changes<C: Change>(changes: Vec<C>) -> Result<Vec<Vec<C>>, TooLarge> {
    let mut puts: Vec<Vec<C>> = Vec::new();
    let mut room = 0_usize;
    for change in changes {
        let size = change.item().map_or(0, |(_, item)| item.size());
        check("item", size, MAX_ITEM_BYTES)?;
        let cost = CHANGE_BYTES + change.cost();
        match puts.last_mut() {
            Some(put) if cost <= room => put.push(change),
            _ => {
                room = MAX_PUT_BYTES;
                puts.push(vec![change]);
            }
        }
        room = room.saturating_sub(cost);
    }
    Ok(puts)
}

impl Right {
    fn keys(&self) -> InvocationKeys {
        match self {
            Self::Holder(lease) => lease.keys(),
            Self::Runner(run, invocation) => SessionKeys::new(run.session()).invocation(*invocation),
        }
    }

    /// Whether nobody else has taken it, read so that this conflicts.
    pub(super) async fn holds<E: From<Corrupt>>(
        &self,
        transaction: &mut Transaction,
    ) -> Result<bool, TransactError<E>> {
        match self {
            Self::Holder(lease) => lease.holds(transaction).await,
            Self::Runner(run, _) => is_running(transaction, run).await,
        }
    }

    fn invocation(&self) -> InvocationId {
        match self {
            Self::Holder(lease) => lease.invocation(),
            Self::Runner(_, invocation) => *invocation,
        }
    }
}

impl<C: Change> Put<C> {
    /// The streams that it changes.
    pub(super) fn streams(&self) -> Vec<StreamId> {
        self.changes.iter().map(Change::stream).collect()
    }

    /// How many bytes its items have.
    pub(super) fn bytes(&self) -> usize {
        self.changes.iter().filter_map(Change::item).map(|(_, item)| item.size()).sum()
    }

    /// Its only frame, if that is too large for one transaction.
    fn large_frame(&self) -> Option<LargeFrame> {
        let [only] = &self.changes[..] else { return None };
        let (first, item) = only.item().filter(|(_, item)| item.size() > MAX_PUT_BYTES)?;
        let introduced = only.introduced(self.right.invocation());
        let streams: Vec<StreamId> = introduced.iter().map(|stream| stream.id).collect();
        let mut packer = Packer::default();
        packer.push(first, item.to_row(&streams, only.charge()));
        let packed = packer.take().pop()?;
        let (right, keys) = (self.right.clone(), self.keys.clone());
        Some(LargeFrame { right, keys, mark: self.mark, stream: only.stream(), first, pieces: divide(packed.value) })
    }
}

impl Journal {
    /// Makes a put of some changes, and writes the pieces that have to be written before it.
    pub(super) async fn prepare_put<C, E>(&self, right: Right, changes: Vec<C>) -> Result<Put<C>, E>
    where
        C: Change + Send,
        E: From<TransactError<E>> + From<Corrupt> + Send,
    {
        let keys = right.keys();
        // Not 0, which no put leaves.
        let mark = self.env.random_u64() | 1;
        let mut put = Put { right, keys, changes, mark, staged: 0 };
        if let Some(frame) = put.large_frame() {
            put.staged = self.stage::<E>(Arc::new(frame)).await?;
        }
        Ok(put)
    }

    /// Writes all but the last pieces of a frame, unless it is not the next one of its stream; how many.
    async fn stage<E>(&self, frame: Arc<LargeFrame>) -> Result<usize, E>
    where
        E: From<TransactError<E>> + From<Corrupt> + Send,
    {
        let staged = frame.pieces.len().saturating_sub(1) / PIECES * PIECES;
        for begin in (0..staged).step_by(PIECES) {
            let is_next = self
                .store
                .transact::<_, E, _>(|transaction, _| {
                    let frame = Arc::clone(&frame);
                    // Doing it again changes nothing.
                    async move { frame.write(transaction, begin..begin + PIECES).await }.boxed()
                })
                .await?;
            if !is_next {
                return Ok(0);
            }
        }
        Ok(staged)
    }
}

impl LargeFrame {
    /// Writes pieces beyond the end of the stream; `false` if that is not where the frame begins.
    async fn write<E: From<Corrupt>>(
        &self,
        transaction: &mut Transaction,
        pieces: Range<usize>,
    ) -> Result<bool, TransactError<E>> {
        if !self.right.holds(transaction).await? {
            return Ok(false);
        }
        let key = self.keys.stream_state(self.stream);
        let state = Kept::<StreamStateRow>::read(transaction, &key).await?;
        let is_next = |state: &Kept<StreamStateRow>| state.row.next == self.first && state.row.terminal.is_none();
        let Some(mut state) = state.filter(is_next) else { return Ok(false) };
        if state.row.staged != self.mark {
            transaction.clear_range(&self.keys.frames_from(self.stream, self.first));
            state.row.staged = self.mark;
            state.write(transaction, &key);
        }
        for (piece, part) in &self.pieces[pieces] {
            transaction.set(&self.keys.frames(self.stream, self.first, *piece), part);
        }
        Ok(true)
    }
}
