//! The streams of an invocation as one put finds them and leaves them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use store::{TransactError, Transaction};

use super::frame::Packer;
use super::{FrameItem, StreamId, Terminal};
use crate::error::refuse;
use crate::keys::InvocationKeys;
use crate::pieces::divide;
use crate::rows::{Kept, StreamStateRow};
use crate::{Corrupt, JournalError};

/// The streams that a put changes, or looks at.
pub(super) struct Shelf<'p> {
    keys: &'p InvocationKeys,
    /// Tells this put from all others.
    mark: u64,
    /// How many pieces of the only frame of the put are written already.
    staged: usize,
    streams: BTreeMap<StreamId, Shelved>,
}

/// A stream as it is, and what is to be written of it.
pub(super) struct Shelved {
    state: Kept<StreamStateRow>,
    packer: Packer,
    changed: bool,
}

impl<'p> Shelf<'p> {
    pub(super) fn new(keys: &'p InvocationKeys, mark: u64, staged: usize) -> Self {
        Self { keys, mark, staged, streams: BTreeMap::new() }
    }

    /// A stream, read so that a change of it conflicts.
    pub(super) async fn stream<E: From<Corrupt>>(
        &mut self,
        transaction: &mut Transaction,
        id: StreamId,
    ) -> Result<Option<&mut Shelved>, TransactError<E>> {
        match self.streams.entry(id) {
            Entry::Occupied(shelved) => Ok(Some(shelved.into_mut())),
            Entry::Vacant(place) => {
                let state = Kept::read(transaction, &self.keys.stream_state(id)).await?;
                let shelved = |state| Shelved { state, packer: Packer::default(), changed: false };
                Ok(state.map(|state| place.insert(shelved(state))))
            }
        }
    }

    /// Whether one of these streams was written by this very put: then an earlier attempt was committed.
    pub(super) async fn is_written<E: From<Corrupt>>(
        &mut self,
        transaction: &mut Transaction,
        streams: Vec<StreamId>,
    ) -> Result<bool, TransactError<E>> {
        let mark = self.mark;
        for id in streams {
            if self.stream(transaction, id).await?.is_some_and(|shelved| shelved.state.row.mark == mark) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a frame to a stream that was found to end where the frame begins.
    pub(super) fn store<E: From<JournalError>>(
        &mut self,
        transaction: &mut Transaction,
        id: StreamId,
        (item, charge): (&FrameItem, u64),
        introduced: &[StreamId],
    ) -> Result<(), TransactError<E>> {
        let Some(shelved) = self.streams.get_mut(&id).filter(|_| item.count() > 0) else { return Ok(()) };
        let state = &mut shelved.state.row;
        let is_staged = state.staged == self.mark;
        if self.staged > 0 && !is_staged {
            // Somebody else has begun to write here, and has removed the pieces.
            return Err(refuse(JournalError::Contended { attempts: 1 }));
        }
        if state.staged != 0 && !is_staged {
            transaction.clear_range(&self.keys.frames_from(id, state.next));
        }
        shelved.packer.push(state.next, item.to_row(introduced, charge));
        state.next += item.count();
        state.entries += 1;
        state.charge = state.charge.saturating_add(charge);
        state.staged = 0;
        state.mark = self.mark;
        shelved.changed = true;
        Ok(())
    }

    /// Ends a stream by whoever writes it.
    pub(super) fn end(&mut self, id: StreamId, terminal: &Terminal) {
        if let Some(shelved) = self.streams.get_mut(&id) {
            shelved.end(terminal);
            shelved.state.row.mark = self.mark;
        }
    }

    /// Writes the frames of a stream, so that they can be read in this transaction.
    pub(super) fn write_frames(&mut self, transaction: &mut Transaction, id: StreamId) {
        if let Some(shelved) = self.streams.get_mut(&id) {
            shelved.write_frames(transaction, self.keys, id, self.staged);
        }
    }

    /// Writes all that has changed.
    pub(super) fn write(mut self, transaction: &mut Transaction) {
        for (id, shelved) in self.streams.iter_mut().filter(|(_, shelved)| shelved.changed) {
            shelved.write_frames(transaction, self.keys, *id, self.staged);
            shelved.state.write(transaction, &self.keys.stream_state(*id));
        }
    }
}

impl Shelved {
    pub(super) fn is_output(&self) -> bool {
        self.state.row.output
    }

    /// The sequence of the next item.
    pub(super) fn next(&self) -> u64 {
        self.state.row.next
    }

    pub(super) fn terminal(&self) -> Result<Option<Terminal>, Corrupt> {
        self.state.row.terminal.clone().map(Terminal::read).transpose()
    }

    /// Ends the stream, without a sign of who did.
    pub(super) fn end(&mut self, terminal: &Terminal) {
        self.state.row.terminal = Some(terminal.to_row());
        self.changed = true;
    }

    fn write_frames(&mut self, transaction: &mut Transaction, keys: &InvocationKeys, id: StreamId, staged: usize) {
        for packed in self.packer.take() {
            for (piece, part) in divide(packed.value).into_iter().skip(staged) {
                transaction.set(&keys.frames(id, packed.first, piece), &part);
            }
        }
    }
}
