//! A harness that runs inside the host.

use std::sync::Arc;

use async_trait::async_trait;
use controller::ports::{
    DescribeError, HarnessChannel, HarnessConnection, HarnessFailure, HarnessPlacement, HarnessUnavailable, HostFrame,
    TurnStart,
};
use futures::StreamExt;
use sdk::{Harness, Run, Turn};
use wire::{Event, HarnessDescriptor};

use crate::frames::Envelope;

/// Runs a harness without a task or a socket: the connection holds the harness's future and polls it while the host
/// waits for its next event. Dropping the connection drops the harness.
#[derive(Clone)]
pub struct InProcess {
    harness: Arc<dyn Harness>,
}

struct Connection {
    run: Run,
    envelope: Envelope,
}

impl InProcess {
    /// A placement of `harness`.
    #[must_use]
    pub fn new(harness: impl Harness) -> Self {
        Self { harness: Arc::new(harness) }
    }
}

#[async_trait]
impl HarnessPlacement for InProcess {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl HarnessChannel for InProcess {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        Ok(self.harness.describe())
    }

    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        let envelope = Envelope::of(&turn);
        let turn = Turn::new(turn.session.as_str(), turn.execution.as_str())
            .map_err(|violation| HarnessFailure::lasting(violation.to_string()))?
            .with_history(turn.history)
            .with_inputs(turn.inputs)
            .with_config(turn.config)
            .with_resume_from_seq(turn.resume_from_seq)
            .with_request_id(turn.request_id)
            .with_invocation(turn.invocation);
        Ok(Box::new(Connection { run: Run::new(self.harness, turn), envelope }))
    }
}

#[async_trait]
impl HarnessConnection for Connection {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        self.run.deliver(self.envelope.frame(frame));
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        Ok(self.run.next().await)
    }
}
