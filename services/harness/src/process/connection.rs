//! A turn on a started program.

use async_trait::async_trait;
use controller::ports::{
    DescribeError, HarnessChannel, HarnessConnection, HarnessFailure, HostFrame, SessionPoint, TurnStart,
};
use wire::event::Body;
use wire::{Event, HarnessDescriptor};

use super::child::Child;
use super::states::States;

/// A program that serves.
pub(super) struct Channel {
    channel: Box<dyn HarnessChannel>,
    child: Child,
    states: States,
}

struct Connection {
    connection: Box<dyn HarnessConnection>,
    child: Child,
    states: States,
    /// The session as of this turn.
    ended: SessionPoint,
    /// What was read, until the state that it leaves is kept.
    read: Option<Option<Event>>,
}

impl Channel {
    pub(super) fn new(channel: Box<dyn HarnessChannel>, child: Child, states: States) -> Self {
        Self { channel, child, states }
    }
}

#[async_trait]
impl HarnessChannel for Channel {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        self.channel.describe().await
    }

    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        let Self { channel, child, states } = *self;
        let ended = SessionPoint { session: turn.session.clone(), last_turn: Some(turn.execution.clone()) };
        let connection = channel.connect(turn).await?;
        Ok(Box::new(Connection { connection, child, states, ended, read: None }))
    }
}

#[async_trait]
impl HarnessConnection for Connection {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        self.connection.send(frame).await
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        let read = match self.read.take() {
            Some(read) => read,
            None => self.connection.next().await?,
        };
        self.read = Some(read);
        if self.read.as_ref().is_some_and(|read| ends_well(read.as_ref())) {
            let kept = self.states.keep(&self.ended, &self.child.state()).await;
            kept.map_err(|error| HarnessFailure::new(error.to_string()))?;
        }
        Ok(self.read.take().flatten())
    }
}

/// Whether the harness has ended its turn, and nothing went wrong.
fn ends_well(read: Option<&Event>) -> bool {
    match read {
        None => true,
        Some(event) => matches!(&event.body, Some(Body::End(end)) if end.state == "COMPLETED"),
    }
}
