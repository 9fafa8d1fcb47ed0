//! The application's end of an input.

use std::sync::Arc;

use bytes::Bytes;
use stream_session::binary::BinaryItems;
use stream_session::client::{InputId, Item};
use stream_session::limits;
use stream_session::message::ClientReason;
use stream_session::server::Element;

use super::WriteError;
use super::error::Unwritable;
use super::shared::Shared;

/// A stream to the agent. Dropped before its end, it is cancelled as one whose source has failed.
pub struct Input {
    shared: Arc<Shared>,
    id: InputId,
    over: bool,
}

impl Input {
    pub(super) fn new(shared: Arc<Shared>, id: InputId) -> Self {
        Self { shared, id, over: false }
    }

    /// The type of its items.
    #[must_use]
    pub fn element(&self) -> Element {
        self.shared.state().client.input_element(self.id).clone()
    }

    /// How many items the server has of it, or will have once it is sent what was written: for an input that an earlier
    /// process has begun, the index of the item to go on with. `None`: the session has come to its end.
    pub async fn position(&self) -> Option<u64> {
        loop {
            let writable = self.shared.writable.notified();
            tokio::pin!(writable);
            writable.as_mut().enable();
            {
                let state = self.shared.state();
                if let Some(position) = state.client.input_position(self.id) {
                    return Some(position);
                }
                if state.ended.is_some() {
                    return None;
                }
            }
            writable.await;
        }
    }

    /// Writes an item: waits for room, and returns when it is kept until the server has made it durable. Cancel-safe: an
    /// item that was not kept is not sent.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn write(&mut self, item: Item) -> Result<(), WriteError> {
        loop {
            let writable = self.shared.writable.notified();
            tokio::pin!(writable);
            writable.as_mut().enable();
            if self.shared.state().ended.is_some() {
                return Err(WriteError::Closed);
            }
            match self.shared.command(|client| client.write(self.id, item.clone())) {
                Ok(()) => return Ok(()),
                Err(Unwritable::Full) => writable.await,
                Err(Unwritable::Closed) => return Err(WriteError::Closed),
                Err(Unwritable::Invalid(refusal)) => return Err(WriteError::Invalid(refusal)),
            }
        }
    }

    /// Writes bytes, each of them an item, in batches as large as the protocol allows.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn write_bytes(&mut self, mut bytes: Bytes) -> Result<(), WriteError> {
        while !bytes.is_empty() {
            let batch = bytes.split_to(bytes.len().min(limits::PACKED_BYTES));
            self.write(Item::Binary(BinaryItems::Packed(batch))).await?;
        }
        Ok(())
    }

    /// There are no more items.
    pub fn end(mut self) {
        self.over = true;
        let _: Result<(), Unwritable> = self.shared.command(|client| Ok(client.end(self.id)));
    }

    /// Gives the input up.
    pub fn cancel(mut self, reason: ClientReason) {
        self.give_up(reason);
    }

    fn give_up(&mut self, reason: ClientReason) {
        if !std::mem::replace(&mut self.over, true) {
            let _: Result<(), Unwritable> = self.shared.command(|client| Ok(client.cancel_input(self.id, reason)));
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.give_up(ClientReason::SourceUnavailable);
    }
}
