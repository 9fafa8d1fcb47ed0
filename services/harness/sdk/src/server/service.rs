//! The gRPC service around a harness.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};
use wire::{ControllerFrame, DescribeRequest, Event, HarnessDescriptor};

use crate::{Harness, Run, Turn};

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
        Ok(Response::new(Execution { run, frames: Some(frames) }))
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

/// A run, fed by the frames of its stream. Polled by the connection, so that it ends when the host goes away.
pub struct Execution {
    run: Run,
    frames: Option<Streaming<ControllerFrame>>,
}

impl Execution {
    /// Delivers the frames that have arrived. A host that floods the run has broken the protocol after a few of them,
    /// which ends the run and the reading.
    fn read_frames(&mut self, cx: &mut Context<'_>) -> Result<(), Status> {
        while let Some(frames) = &mut self.frames {
            match frames.poll_next_unpin(cx) {
                Poll::Pending => break,
                Poll::Ready(Some(frame)) => self.run.deliver(frame?),
                Poll::Ready(None) => {
                    self.run.close();
                    self.frames = None;
                }
            }
            if !self.run.is_running() {
                self.frames = None;
            }
        }
        Ok(())
    }
}

impl Stream for Execution {
    type Item = Result<Event, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Err(status) = self.read_frames(cx) {
            return Poll::Ready(Some(Err(status)));
        }
        self.run.poll_next_unpin(cx).map(|event| event.map(Ok))
    }
}
