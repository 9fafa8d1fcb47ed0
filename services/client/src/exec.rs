//! A running turn, seen from the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryFutureExt};
use wire::exec_update::Update as Frame;
use wire::{Delta, ExecRequest, ExecUpdate, LogRecord, Session};

use crate::driver::Driver;
use crate::frames::Frames;
use crate::{Client, Error};

/// The updates of a turn, as they arrive. Dropping it cancels the turn.
pub struct Exec {
    updates: BoxStream<'static, Result<Update, Error>>,
    request_id: String,
}

/// What a turn tells its client (execution.md §3.1).
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The session: first as it is before the turn, and once more after some turns.
    Session(Box<Session>),
    /// A record that is durable.
    Record(Box<LogRecord>),
    /// Text of a completion that is still streaming. Never durable by itself, and not repeated after a node was lost.
    Delta(Delta),
    /// The turn's node was lost, and the turn goes on. Of turns that this client runs.
    Moved(Moved),
}

/// From where to where a turn goes on. Both may be the same: a node that was started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The address of the node that was lost.
    pub lost: Arc<str>,
    /// The address of the node where the turn goes on.
    pub to: Arc<str>,
}

impl Exec {
    pub(crate) fn new(client: &Client, request: ExecRequest) -> Self {
        let request_id = client.caller().request_id();
        let (client, id) = (client.clone(), request_id.clone());
        let updates = if client.caller().options().turn_patience.is_zero() {
            let frames =
                async move { Frames::exec(client.caller(), client.caller().nodes().chosen(), request, &id).await };
            frames.map_ok(Frames::into_stream).try_flatten_stream().boxed()
        } else {
            let driver = Driver::begin(client, request, id);
            driver.map_ok(Driver::into_stream).try_flatten_stream().boxed()
        };
        Self { updates, request_id }
    }

    /// The id under which the logs of the hosts show the calls of this turn.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }
}

impl Stream for Exec {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.updates.poll_next_unpin(cx)
    }
}

impl Update {
    pub(crate) fn from_wire(frame: ExecUpdate) -> Option<Self> {
        Some(match frame.update? {
            Frame::Session(session) => Self::Session(Box::new(session)),
            Frame::Record(record) => Self::Record(Box::new(record)),
            Frame::Delta(delta) => Self::Delta(delta),
        })
    }

    /// The frame as it was on the wire, if it is one.
    #[must_use]
    pub fn into_wire(self) -> Option<ExecUpdate> {
        let update = match self {
            Self::Session(session) => Frame::Session(*session),
            Self::Record(record) => Frame::Record(*record),
            Self::Delta(delta) => Frame::Delta(delta),
            Self::Moved(_) => return None,
        };
        Some(ExecUpdate { update: Some(update) })
    }
}
