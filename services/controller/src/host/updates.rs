//! What an Exec tells its client while the turn runs.

use std::time::Duration;

use async_trait::async_trait;
use cluster::{Coordinator, News};
use journal::{ExecutionId, SessionState, SessionUid};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::exec_update::Update;
use wire::{Delta, ExecUpdate, LogRecord};

use super::HostError;
use crate::ports::DeltaSink;

/// Updates that may wait for the client before the turn waits for it.
const QUEUE: usize = 64;
/// How long a client may take no update before it counts as gone.
const SLOW_CLIENT: Duration = Duration::from_secs(60);

/// The turn's end of the stream to its client. Absent for operations that do not stream.
pub(super) struct Updates {
    sender: Option<mpsc::Sender<Result<ExecUpdate, HostError>>>,
    client_gone: CancellationToken,
}

impl Updates {
    /// A stream and its receiving end. `client_gone` is fired for a client that stops reading.
    pub(super) fn channel(client_gone: CancellationToken) -> (Self, mpsc::Receiver<Result<ExecUpdate, HostError>>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { sender: Some(sender), client_gone }, receiver)
    }

    /// Updates that nobody reads.
    pub(super) fn none() -> Self {
        Self { sender: None, client_gone: CancellationToken::new() }
    }

    pub(super) async fn session(&mut self, state: &SessionState) {
        self.send(|| Update::Session(state.to_wire())).await;
    }

    pub(super) async fn records(&mut self, records: &[LogRecord]) {
        for record in records {
            self.send(|| Update::Record(record.clone())).await;
        }
    }

    pub(super) async fn delta(&mut self, execution: &ExecutionId, chunk: String, done: bool) {
        let execution_id = execution.as_str().to_owned();
        self.send(|| Update::Delta(Delta { execution_id, part_index: 0, chunk, done })).await;
    }

    /// Ends the stream with the outcome.
    pub(super) async fn finish(mut self, outcome: Result<(), HostError>) {
        if let (Err(error), Some(sender)) = (outcome, self.sender.take()) {
            // A client that is gone does not want to know.
            let _ = tokio::time::timeout(SLOW_CLIENT, sender.send(Err(error))).await;
        }
    }

    /// A broken client stream does not stop the commits already under way: it is only no longer told.
    async fn send(&mut self, update: impl FnOnce() -> Update) {
        let Some(sender) = &self.sender else { return };
        let update = Ok(ExecUpdate { update: Some(update()) });
        let sent = tokio::time::timeout(SLOW_CLIENT, sender.send(update)).await;
        if !matches!(sent, Ok(Ok(()))) {
            self.sender = None;
            self.client_gone.cancel();
        }
    }
}

/// The chunks of one streamed completion, on their way to the client and to whoever watches.
pub(super) struct Deltas<'a> {
    pub(super) updates: &'a mut Updates,
    pub(super) coordinator: &'a dyn Coordinator,
    pub(super) session: &'a SessionUid,
    pub(super) execution: &'a ExecutionId,
}

impl Deltas<'_> {
    /// Says that the text is whole.
    pub(super) async fn finish(&mut self) {
        self.pass(String::new(), true).await;
    }

    async fn pass(&mut self, chunk: String, done: bool) {
        let news = News::Delta { execution: self.execution.clone(), text: chunk.clone(), last: done };
        self.coordinator.tell(self.session, news);
        self.updates.delta(self.execution, chunk, done).await;
    }
}

#[async_trait]
impl DeltaSink for Deltas<'_> {
    async fn text(&mut self, chunk: String) {
        if !chunk.is_empty() {
            self.pass(chunk, false).await;
        }
    }
}
