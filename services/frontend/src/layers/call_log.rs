//! The span of a call and its one line in the log (registry.md §7.4).

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Instant;
use tonic::{Code, Status};
use tracing::{Instrument, Span};

use crate::layers::request_id::RequestId;
use crate::metrics::METRICS;

/// What the handler knows about its call and the log line tells. Cheap to clone; clones share the facts.
#[derive(Clone, Default)]
pub(crate) struct CallFacts(Arc<Facts>);

#[derive(Default)]
struct Facts {
    entered: AtomicBool,
    session: OnceLock<String>,
    items: AtomicU64,
}

impl CallFacts {
    /// Notes that the request was decoded and which session it is about; empty if it names none yet.
    pub(crate) fn enter(&self, session: &str) {
        self.0.entered.store(true, Ordering::Relaxed);
        self.name_session(session);
    }

    /// Notes which session the call is about, if it is not known yet.
    pub(crate) fn name_session(&self, session: &str) {
        if !session.is_empty() && self.0.session.set(session.to_owned()).is_ok() {
            Span::current().record("session", session);
        }
    }

    /// Whether a handler saw the request.
    pub(crate) fn entered(&self) -> bool {
        self.0.entered.load(Ordering::Relaxed)
    }

    /// Counts records, updates, sessions or children given to the caller.
    pub(crate) fn count(&self, items: usize) {
        self.0.items.fetch_add(items as u64, Ordering::Relaxed);
    }
}

/// Runs the call in its span and logs one line when it has ended, whichever way.
pub(crate) async fn observe(mut request: Request, next: Next) -> Response {
    let operation = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let request_id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let facts = CallFacts::default();
    request.extensions_mut().insert(facts.clone());
    let span =
        tracing::info_span!("call", operation, request_id = request_id.as_str(), session = tracing::field::Empty);
    if let Some(parent) = request.headers().get(env::TRACEPARENT).and_then(|value| value.to_str().ok()) {
        env::continue_trace(&span, parent);
    }
    let line = Line { operation, request_id, facts, started: Instant::now(), code: Code::Cancelled };
    let response = next.run(request).instrument(span.clone()).await;
    observed(response, span, line)
}

fn observed(response: Response, span: Span, mut line: Line) -> Response {
    line.settle(response.headers());
    // Without a body the status is in the headers, and nobody will poll for trailers.
    if response.body().is_end_stream() {
        return response;
    }
    response.map(|body| Body::new(ObservedBody { body, span, line }))
}

/// The line of one call. It is written when this is dropped, so that a call whose caller went away has one too: its
/// code is CANCELLED until the status is known.
struct Line {
    operation: String,
    request_id: RequestId,
    facts: CallFacts,
    started: Instant,
    code: Code,
}

impl Line {
    /// Notes the status, if `headers` carry it.
    fn settle(&mut self, headers: &HeaderMap) {
        if let Some(status) = Status::from_header_map(headers) {
            self.code = status.code();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let elapsed = self.started.elapsed();
        METRICS.call_ended(&self.operation, self.code, elapsed);
        tracing::info!(
            target: "agentsessions::call",
            operation = self.operation,
            session = self.facts.0.session.get().map_or("", String::as_str),
            request_id = self.request_id.as_str(),
            items = self.facts.0.items.load(Ordering::Relaxed),
            code = ?self.code,
            duration_ms = elapsed.as_secs_f64() * 1000.0,
            "call ended"
        );
    }
}

struct ObservedBody {
    body: Body,
    span: Span,
    line: Line,
}

impl http_body::Body for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        let _entered = this.span.enter();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(trailers) = frame.trailers_ref()
        {
            this.line.settle(trailers);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
