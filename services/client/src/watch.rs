//! A session as it grows, followed across broken connections.

use wire::WatchRequest;

use crate::frames::Frames;
use crate::retry::{Attempts, Repeat};
use crate::{Client, Error, Update};

/// A watch. When its node is lost it goes on after its cursor, at the next one, under the client's [`crate::Retry`]; each
/// update that arrives is progress. The deltas of the time between are lost.
pub struct Watch {
    client: Client,
    session: String,
    cursor: i64,
    open: Option<Frames>,
    /// The caller has the session as it was at first.
    announced: bool,
    attempts: Attempts,
}

impl Watch {
    pub(crate) fn new(client: Client, session: &str, after_seq: i64) -> Self {
        Self {
            client,
            session: session.to_owned(),
            cursor: after_seq,
            open: None,
            announced: false,
            attempts: Attempts::new(Repeat::Always),
        }
    }

    /// The seq of the last record that was handed out.
    #[must_use]
    pub fn cursor(&self) -> i64 {
        self.cursor
    }

    /// The next update: the session as it is, then its records, each once and in order, and the deltas of its turns. `None`
    /// if the host has nothing more to say, ever.
    ///
    /// # Errors
    /// [`Error`], when it is not a broken connection, or the connection could not be had again. Calling again goes on
    /// after the cursor.
    pub async fn next(&mut self) -> Result<Option<Update>, Error> {
        loop {
            match self.read().await {
                // Each attempt begins with the session.
                Ok(Some(Update::Session(_))) if self.announced => {}
                Ok(update) => {
                    self.attempts.progressed();
                    self.announced = true;
                    if let Some(Update::Record(record)) = &update {
                        self.cursor = record.seq;
                    }
                    return Ok(update);
                }
                Err(error) => {
                    self.open = None;
                    let caller = self.client.caller();
                    self.attempts.after(error, &caller.options().retry, caller.env()).await?;
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Update>, Error> {
        let frames = match &mut self.open {
            Some(open) => open,
            closed => {
                let request = WatchRequest { session: self.session.clone(), after_seq: self.cursor };
                closed.insert(Frames::watch(self.client.caller(), request).await?)
            }
        };
        frames.next().await
    }
}
