//! The right to append to a session.

use std::fmt;

use bytes::Bytes;

use super::Draft;
use crate::keys::SessionKeys;
use crate::rows::Head;
use crate::{Fence, Projection, Seq, SessionUid};

/// Appends to one session, under one fence, until another writer is minted. Remembers the head row that it wrote last.
pub struct Writer {
    uid: SessionUid,
    keys: SessionKeys,
    head: Head,
    /// `head` exactly as it is stored.
    stored: Bytes,
}

impl Writer {
    /// A writer that has just stored `head`.
    pub(super) fn new(uid: SessionUid, head: Head) -> Self {
        Self { keys: SessionKeys::new(&uid), stored: head.encode(), uid, head }
    }

    /// The session.
    #[must_use]
    pub fn uid(&self) -> &SessionUid {
        &self.uid
    }

    /// The last record that this writer knows of; the next one is appended after it.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head.last_seq
    }

    /// The fence of every record that it appends.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.head.fence
    }

    /// What the log up to [`head`](Self::head) amounts to.
    #[must_use]
    pub fn projection(&self) -> &Projection {
        &self.head.projection
    }

    pub(super) fn keys(&self) -> &SessionKeys {
        &self.keys
    }

    pub(super) fn head_row(&self) -> &Head {
        &self.head
    }

    pub(super) fn stored_head(&self) -> &Bytes {
        &self.stored
    }

    /// Moves to the head that an append stored.
    pub(super) fn advance(&mut self, draft: &Draft) {
        self.head = draft.head().clone();
        self.stored = draft.stored_head().clone();
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("uid", &self.uid).field("head", &self.head.last_seq).finish_non_exhaustive()
    }
}
