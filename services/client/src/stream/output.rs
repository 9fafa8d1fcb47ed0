//! The application's end of an output.

use std::sync::Arc;

use stream_session::client::{Item, OutputId};
use stream_session::message::{ClientReason, OutputOutcome};
use stream_session::server::Element;

use super::error::Unwritable;
use super::shared::{Next, Queue, Shared};
use super::{BinaryItems, Error};

/// A stream from the agent. Dropped before its end, it is cancelled: nobody reads it.
pub struct Output {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    id: OutputId,
    token: String,
    /// What was given to the application, and not confirmed: the sequence after it.
    given: Option<u64>,
    outcome: Option<OutputOutcome>,
}

impl Output {
    pub(super) fn new(shared: Arc<Shared>, id: OutputId, token: String) -> Self {
        let queue = shared.queue(id);
        Self { shared, queue, id, token, given: None, outcome: None }
    }

    /// What values name it by. A secret, as all tokens.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The type of its items.
    #[must_use]
    pub fn element(&self) -> Element {
        self.shared.state().client.output_element(self.id).clone()
    }

    /// The next item, or some bytes that are an item each, with the index of the first; `None` after the last, when
    /// [`Self::outcome`] says how it ended. Asking for the next one confirms the one before. Cancel-safe.
    ///
    /// # Errors
    /// The session does not go on here.
    pub async fn next(&mut self) -> Result<Option<(u64, Item)>, Error> {
        self.confirm();
        loop {
            // Asked before the queue is looked at: what comes before the end is given before it.
            let ended = self.shared.state().ended.clone();
            match self.shared.take(&self.queue) {
                Next::Item(queued) => {
                    self.given = Some(queued.sequence + count(&queued.item));
                    return Ok(Some((queued.sequence, queued.item)));
                }
                Next::End(outcome) => {
                    self.outcome = Some(outcome);
                    return Ok(None);
                }
                Next::Nothing => match ended {
                    Some(Err(error)) => return Err(error),
                    // It has ended in an earlier process.
                    Some(Ok(_)) => return Ok(None),
                    None => self.queue.changed.notified().await,
                },
            }
        }
    }

    /// What was given is processed: the session goes on behind it, whatever happens to this process. At the end, so is the
    /// end.
    pub fn confirm(&mut self) {
        let given = self.given.take();
        if given.is_some() || self.outcome.is_some() {
            self.shared.consumed(self.id, given.unwrap_or_default(), self.outcome.is_some());
        }
    }

    /// How it ended, once [`Self::next`] has said that there is no more.
    #[must_use]
    pub fn outcome(&self) -> Option<&OutputOutcome> {
        self.outcome.as_ref()
    }

    /// Gives it up: nothing of what it still holds is given any more.
    pub fn cancel(self, reason: ClientReason) {
        self.give_up(reason);
    }

    fn give_up(&self, reason: ClientReason) {
        if self.outcome.is_none() {
            let _: Result<(), Unwritable> = self.shared.command(|client| Ok(client.cancel_output(self.id, reason)));
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.give_up(ClientReason::ConsumerDrop);
        self.shared.forget(self.id);
    }
}

fn count(item: &Item) -> u64 {
    match item {
        Item::Value(_) => 1,
        Item::Binary(items) => BinaryItems::count(items),
    }
}
