//! A running turn, seen from the client.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use tonic::Streaming;
use wire::exec_update::Update as Frame;
use wire::{Delta, ExecUpdate, LogRecord, Session};

use crate::Error;

/// The updates of a turn, as they arrive. Dropping it cancels the turn.
pub struct Exec {
    updates: Streaming<ExecUpdate>,
    request_id: String,
}

/// What a turn tells its client (execution.md §3.1).
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The session: first as it is before the turn, and once more after some turns.
    Session(Box<Session>),
    /// A record that is durable.
    Record(Box<LogRecord>),
    /// Text of a completion that is still streaming. Never durable by itself.
    Delta(Delta),
}

impl Exec {
    pub(crate) fn new(updates: Streaming<ExecUpdate>, request_id: String) -> Self {
        Self { updates, request_id }
    }

    /// The id under which the host's logs show this call.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }
}

impl Stream for Exec {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(Pin::new(&mut self.updates).poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Err(status)) => return Poll::Ready(Some(Err(Error::from_status(&status, &self.request_id)))),
                Some(Ok(frame)) => {
                    // A frame of a kind that this client does not know yet is skipped.
                    if let Some(update) = Update::from_wire(frame) {
                        return Poll::Ready(Some(Ok(update)));
                    }
                }
            }
        }
    }
}

impl Update {
    fn from_wire(frame: ExecUpdate) -> Option<Self> {
        Some(match frame.update? {
            Frame::Session(session) => Self::Session(Box::new(session)),
            Frame::Record(record) => Self::Record(Box::new(record)),
            Frame::Delta(delta) => Self::Delta(delta),
        })
    }

    /// The frame as it was on the wire.
    #[must_use]
    pub fn into_wire(self) -> ExecUpdate {
        let update = match self {
            Self::Session(session) => Frame::Session(*session),
            Self::Record(record) => Frame::Record(*record),
            Self::Delta(delta) => Frame::Delta(delta),
        };
        ExecUpdate { update: Some(update) }
    }
}
