//! Turns that run here, and the way to stop them although their guard is taken.

use std::sync::{Arc, OnceLock};

use journal::ExecutionId;
use tokio_util::sync::CancellationToken;

/// A turn that runs on this host. Cheap to clone; clones are the same turn.
#[derive(Clone, Debug)]
pub(super) struct LiveTurn {
    execution: ExecutionId,
    order: StopOrder,
    ended: CancellationToken,
}

/// The order to stop a turn: for good, which may be given once, or because its session has another owner. Cheap to clone;
/// clones are the same order.
#[derive(Clone, Debug, Default)]
pub(super) struct StopOrder {
    given: CancellationToken,
    reason: Arc<OnceLock<String>>,
    dispossessed: CancellationToken,
}

impl LiveTurn {
    /// A turn whose records have this id.
    pub(super) fn new(execution: ExecutionId) -> Self {
        Self { execution, order: StopOrder::default(), ended: CancellationToken::new() }
    }

    pub(super) fn execution(&self) -> &ExecutionId {
        &self.execution
    }

    pub(super) fn order(&self) -> &StopOrder {
        &self.order
    }

    /// Resolves when the turn runs no more and its guard is free.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Tells those who wait that it runs no more.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }
}

impl StopOrder {
    /// Stops the turn without a record: it could not append one.
    pub(super) fn dispossess(&self) {
        self.dispossessed.cancel();
    }

    /// Resolves when the session has another owner.
    pub(super) async fn dispossessed(&self) {
        self.dispossessed.cancelled().await;
    }

    /// Gives the order; the first reason counts.
    pub(super) fn give(&self, reason: &str) {
        self.reason.get_or_init(|| reason.to_owned());
        self.given.cancel();
    }

    /// Resolves when it is given for good.
    pub(super) async fn given(&self) {
        self.given.cancelled().await;
    }

    /// Why it was given; empty before.
    pub(super) fn reason(&self) -> &str {
        self.reason.get().map_or("", String::as_str)
    }
}
