//! A method at work, and what goes on beside it.

use std::future::poll_fn;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use stream_session::value::Value;

use crate::streams::Work;
use crate::{Failure, Streams};

type Acting = BoxFuture<'static, Result<Option<Value>, Failure>>;

struct Invoking {
    streams: Streams,
    /// Until it has returned.
    method: Option<Acting>,
    works: FuturesUnordered<Work>,
}

/// Runs a method until it has returned and all work beside it is done.
pub(super) async fn invoke(streams: Streams, method: Acting) -> Result<(), Failure> {
    let mut invoking = Invoking { streams, method: Some(method), works: FuturesUnordered::new() };
    poll_fn(|cx| invoking.poll(cx)).await
}

impl Invoking {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        loop {
            if let Some(method) = &mut self.method
                && let Poll::Ready(returned) = method.poll_unpin(cx)
            {
                self.streams.returned(returned?.map(|result| result.canonical()));
                self.method = None;
            }
            // Work may make work.
            self.works.extend(self.streams.take_works());
            match self.works.poll_next_unpin(cx) {
                // A stream that was cancelled is no failure of the invocation.
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) if self.method.is_none() => return Poll::Ready(Ok(())),
                Poll::Ready(None) | Poll::Pending if !self.streams.has_works() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => {}
            }
        }
    }
}
