//! How many calls may run at once, and whether new ones may start at all.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::Status;

use crate::metrics::METRICS;

/// The gate every call passes. Cheap to clone; clones share the gate.
#[derive(Clone)]
pub(crate) struct Admission {
    limit: usize,
    permits: Arc<Semaphore>,
    live: TaskTracker,
}

/// One admitted call, from its first byte to the last one of its response.
struct Admitted {
    /// Given back with the end of the response, before the caller has it: whoever calls again then must find room.
    permit: Option<OwnedSemaphorePermit>,
    _live: TaskTrackerToken,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        METRICS.live.dec();
    }
}

impl Admission {
    /// A gate that lets `limit` calls in at once.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { limit, permits: Arc::new(Semaphore::new(limit)), live: TaskTracker::new() }
    }

    /// Refuses every call from now on.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.live.close();
    }

    /// Resolves when the gate is closed and no call is left.
    pub(crate) async fn idle(&self) {
        self.live.wait().await;
    }

    /// Number of admitted calls that have not ended.
    pub(crate) fn live(&self) -> usize {
        self.live.len()
    }

    fn enter(&self) -> Result<Admitted, Status> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => {
                METRICS.live.inc();
                Ok(Admitted { permit: Some(permit), _live: self.live.token() })
            }
            Err(TryAcquireError::Closed) => Err(Status::unavailable("node is shutting down; use another one")),
            Err(TryAcquireError::NoPermits) => {
                let message = format!("all {} calls that may run at once are taken; retry later", self.limit);
                Err(Status::resource_exhausted(message))
            }
        }
    }
}

/// Lets the call in or refuses it at once: a queue here would only hide from the caller that it should back off. A
/// streaming call counts until its stream has ended.
pub(crate) async fn admit(State(gate): State<Admission>, request: Request, next: Next) -> Response {
    match gate.enter() {
        Ok(admitted) => next.run(request).await.map(|body| Body::new(AdmittedBody::new(body, admitted))),
        Err(refusal) => refusal.into_http(),
    }
}

struct AdmittedBody {
    body: Body,
    admitted: Admitted,
}

impl AdmittedBody {
    fn new(body: Body, mut admitted: Admitted) -> Self {
        if http_body::Body::is_end_stream(&body) {
            admitted.permit = None;
        }
        Self { body, admitted }
    }
}

impl http_body::Body for AdmittedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(&frame, Poll::Ready(next) if next.as_ref().is_none_or(is_last)) {
            self.admitted.permit = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn is_last(frame: &Result<Frame<Bytes>, axum::Error>) -> bool {
    frame.as_ref().map_or(true, Frame::is_trailers)
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use http_body_util::StreamBody;
    use tonic::Code;

    use super::*;

    fn refusal(gate: &Admission) -> Status {
        gate.enter().err().unwrap()
    }

    #[test]
    fn a_call_over_the_limit_is_refused_and_an_ended_one_makes_room() {
        let gate = Admission::new(2);
        let first = gate.enter().unwrap();
        let _second = gate.enter().unwrap();
        let refused = refusal(&gate);
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.message().contains('2'), "{}", refused.message());
        drop(first);
        assert!(gate.enter().is_ok());
    }

    #[tokio::test]
    async fn room_is_made_with_the_end_of_the_response() {
        let gate = Admission::new(1);
        let frames = [Frame::data(Bytes::from_static(b"x")), Frame::trailers(http::HeaderMap::new())];
        let body = Body::new(StreamBody::new(futures::stream::iter(frames.map(Ok::<_, axum::Error>))));
        let mut body = AdmittedBody::new(body, gate.enter().unwrap());
        for expected in [false, true] {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            assert!(frame.unwrap().is_ok());
            assert_eq!(gate.enter().is_ok(), expected);
        }
        assert_eq!(gate.live(), 1, "the body is still there");
    }

    #[tokio::test]
    async fn a_closed_gate_refuses_and_waits_for_the_calls_inside() {
        let gate = Admission::new(2);
        let inside = gate.enter().unwrap();
        gate.close();
        assert_eq!(refusal(&gate).code(), Code::Unavailable);
        assert_eq!(gate.live(), 1);
        let mut idle = std::pin::pin!(gate.idle());
        assert!(futures::poll!(&mut idle).is_pending());
        drop(inside);
        idle.await;
    }
}
