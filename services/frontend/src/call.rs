//! One call, as its handler sees it.

use std::future::Future;

use controller::{CallContext, Classified};
use futures::future::Either;
use futures::{Stream, StreamExt, future};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::layers::call_log::CallFacts;
use crate::layers::deadline::Deadline;
use crate::layers::request_id::RequestId;
use crate::status::status;

/// What the layers found out about the call. Dropping it tells the host that the caller has its answer or went away.
pub(crate) struct Call {
    request_id: RequestId,
    deadline: Option<Instant>,
    facts: CallFacts,
    cancelled: CancellationToken,
}

impl Call {
    /// Begins the handling of `request`, which is about `session` (empty: none yet).
    pub(crate) fn enter<T>(request: &Request<T>, session: &str) -> Self {
        let extensions = request.extensions();
        let facts = extensions.get::<CallFacts>().cloned().unwrap_or_default();
        facts.enter(session);
        Self {
            request_id: extensions.get::<RequestId>().cloned().unwrap_or_default(),
            deadline: extensions.get::<Deadline>().copied().unwrap_or_default().0,
            facts,
            cancelled: CancellationToken::new(),
        }
    }

    /// What the host needs to know of the call.
    pub(crate) fn context(&self) -> CallContext {
        CallContext {
            request_id: self.request_id.as_str().to_owned(),
            deadline: self.deadline,
            cancelled: self.cancelled.clone(),
        }
    }

    /// Counts something given to the caller, for the log.
    pub(crate) fn count(&self, items: usize) {
        self.facts.count(items);
    }

    /// What the log tells of the call.
    pub(crate) fn facts(&self) -> CallFacts {
        self.facts.clone()
    }

    /// Answers with what `operation` returns.
    pub(crate) async fn answer<T>(
        &self,
        operation: impl Future<Output = Result<T, impl Classified>>,
    ) -> Result<Response<T>, Status> {
        operation.await.map(Response::new).map_err(|error| status(&error))
    }

    /// Like [`answer`](Self::answer), for an operation that does not watch the deadline itself.
    pub(crate) async fn answer_in_time<T>(
        &self,
        operation: impl Future<Output = Result<T, impl Classified>>,
    ) -> Result<Response<T>, Status> {
        tokio::select! {
            biased;
            answer = self.answer(operation) => answer,
            late = self.deadline_passed() => Err(late),
        }
    }

    /// Streams `items` to the caller, counting them. The call lasts as long as the stream.
    pub(crate) fn stream<T>(
        self,
        items: impl Stream<Item = Result<T, impl Classified>>,
    ) -> impl Stream<Item = Result<T, Status>> {
        items.map(move |item| {
            self.count(usize::from(item.is_ok()));
            item.map_err(|error| status(&error))
        })
    }

    /// Resolves, with the status to give, when the caller stops waiting.
    pub(crate) fn deadline_passed(&self) -> impl Future<Output = Status> + use<> {
        match self.deadline {
            None => Either::Left(future::pending()),
            Some(deadline) => Either::Right(async move {
                tokio::time::sleep_until(deadline).await;
                Status::deadline_exceeded("deadline passed before the call was done")
            }),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.cancelled.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use controller::HostError;
    use tonic::Code;

    use super::*;

    fn call(deadline: Option<Duration>) -> Call {
        let mut request = Request::new(());
        request.extensions_mut().insert(Deadline(deadline.map(|left| Instant::now() + left)));
        Call::enter(&request, "")
    }

    #[tokio::test]
    async fn an_operation_that_outlives_the_deadline_is_cut_short() {
        let call = call(Some(Duration::from_millis(1)));
        let status = call.answer_in_time(future::pending::<Result<(), HostError>>()).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
    }

    #[tokio::test]
    async fn an_answer_that_is_there_is_given_even_late() {
        let call = call(Some(Duration::ZERO));
        assert!(call.answer_in_time(future::ready(Ok::<_, HostError>(()))).await.is_ok());
        let refused = call.answer_in_time(future::ready(Err::<(), _>(HostError::EmptySession))).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }

    #[tokio::test]
    async fn the_host_learns_that_the_call_is_over() {
        let call = call(None);
        let context = call.context();
        let stream = call.stream(futures::stream::pending::<Result<(), HostError>>());
        assert!(!context.cancelled.is_cancelled());
        drop(stream);
        assert!(context.cancelled.is_cancelled());
    }
}
