//! The gRPC service around a harness.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt};
use tokio::task::JoinSet;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};
use wire::{ControllerFrame, DescribeRequest, Event, HarnessDescriptor};

use crate::{Harness, Inlet, Run, Turn};

/// Longest wait for the first frame of a stream. Large histories take their time.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const REQUEST_ID: &str = "x-request-id";

/// A harness as a gRPC service.
pub struct HarnessService {
    harness: Arc<dyn Harness>,
}

impl HarnessService {
    /// Serves `harness`.
    #[must_use]
    pub fn new(harness: Arc<dyn Harness>) -> Self {
        Self { harness }
    }
}

#[async_trait::async_trait]
impl wire::harness_server::Harness for HarnessService {
    type ConnectStream = Execution;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<HarnessDescriptor>, Status> {
        Ok(Response::new(self.harness.describe()))
    }

    async fn connect(&self, request: Request<Streaming<ControllerFrame>>) -> Result<Response<Execution>, Status> {
        let request_id = request_id(request.metadata());
        let mut frames = request.into_inner();
        let turn = start(&mut frames).await?.with_request_id(request_id);
        tracing::debug!(
            session = turn.session(),
            execution = turn.execution(),
            request_id = turn.request_id(),
            history = turn.history().len(),
            "turn started"
        );
        let run = Run::new(Arc::clone(&self.harness), turn);
        // What has arrived with the first frame comes before anything that the harness does.
        while let Some(frame) = frames.message().now_or_never() {
            if !frame?.is_some_and(|frame| run.inlet().deliver(frame)) {
                break;
            }
        }
        let mut reading = JoinSet::new();
        reading.spawn(read(frames, run.inlet()));
        Ok(Response::new(Execution { run, reading }))
    }
}

async fn start(frames: &mut Streaming<ControllerFrame>) -> Result<Turn, Status> {
    let first = tokio::time::timeout(START_TIMEOUT, frames.message())
        .await
        .map_err(|_| Status::deadline_exceeded("the start frame did not come in time"))??
        .unwrap_or_default();
    Turn::from_frame(first).map_err(|violation| Status::invalid_argument(violation.to_string()))
}

fn request_id(metadata: &MetadataMap) -> String {
    metadata.get(REQUEST_ID).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// Delivers the frames as they arrive. A host that floods the run has broken the protocol after a few of them, which ends
/// the run and the reading.
async fn read(mut frames: Streaming<ControllerFrame>, inlet: Inlet) -> Result<(), Status> {
    while let Some(frame) = frames.message().await? {
        if !inlet.deliver(frame) {
            return Ok(());
        }
    }
    inlet.close();
    Ok(())
}

/// A run, fed by the frames of its stream. Polled by the connection, so that it ends when the host goes away.
pub struct Execution {
    run: Run,
    /// In a task of its own: the connection polls the run only while it can send, and a host that waits for its frames to
    /// be read does not read.
    reading: JoinSet<Result<(), Status>>,
}

impl Stream for Execution {
    type Item = Result<Event, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(Some(read)) = self.reading.poll_join_next(cx) {
            let read = read.unwrap_or_else(|error| Err(Status::internal(error.to_string())));
            if let Err(status) = read {
                return Poll::Ready(Some(Err(status)));
            }
        }
        self.run.poll_next_unpin(cx).map(|event| event.map(Ok))
    }
}
