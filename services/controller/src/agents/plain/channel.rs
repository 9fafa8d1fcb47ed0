//! The way to a plain harness.

use async_trait::async_trait;
use wire::HarnessDescriptor;

use super::connection::Connection;
use super::conversation;
use crate::ports::{DescribeError, HarnessChannel, HarnessConnection, HarnessFailure, TurnStart};

/// Gives the turns of a session to a plain harness, invocations as well: of those it is told what is said in them.
pub(super) struct Channel {
    inner: Box<dyn HarnessChannel>,
}

impl Channel {
    pub(super) fn new(inner: Box<dyn HarnessChannel>) -> Self {
        Self { inner }
    }
}

#[async_trait]
impl HarnessChannel for Channel {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        self.inner.describe().await
    }

    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        let turn = TurnStart { history: conversation::told(turn.history), ..turn };
        let Some(invocation) = &turn.invocation else { return self.inner.connect(turn).await };
        let inputs = conversation::messages(&invocation.method_parameters)
            .map_err(|unreadable| HarnessFailure::lasting(format!("the messages of an invocation: {unreadable}")))?;
        let execution = turn.execution.clone();
        let connection = self.inner.connect(TurnStart { inputs, invocation: None, ..turn }).await?;
        Ok(Box::new(Connection::new(connection, execution)))
    }
}
