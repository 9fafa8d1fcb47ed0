//! One call of a tool, and what can become of it.

use std::time::Duration;

use async_trait::async_trait;
use egress::Failure;
use journal::SessionUid;
use thiserror::Error;
use wire::{ToolCall, ToolResult};

/// Something that runs the calls of its tools. The caller bounds the wait.
#[async_trait]
pub(crate) trait Executor: Send + Sync {
    async fn call(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, CallError>;
}

/// Why a call has no result. Nothing that an executor said is in it: that may quote arguments.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum CallError {
    #[error("the call cannot be sent: {0}")]
    Unsendable(&'static str),
    #[error(transparent)]
    Unanswered(#[from] Failure),
    #[error("it cannot be started: {0}")]
    NotStarted(String),
    #[error("it refused the call (http {0})")]
    Status(u16),
    #[error("it refused the call (json-rpc {0})")]
    Refused(i32),
    #[error("its answer broke off: {0}")]
    Broken(String),
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    #[error("its answer is not a result: {0}")]
    NotAResult(&'static str),
    #[error("it ended before it answered")]
    Ended,
    #[error("no result within {0:?}")]
    TimedOut(Duration),
}
