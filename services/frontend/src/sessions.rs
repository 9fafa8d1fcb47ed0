//! The handlers of `agentsessions.v1.Sessions`: decode, one call to the host, encode.

use controller::Host;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt, future};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, async_trait};
use wire::exec_update::Update;
use wire::sessions_server::{Sessions, SessionsServer};
use wire::{
    AgentType, ApproveRequest, ApproveResponse, CancelRequest, CreateSessionRequest, DeleteSessionRequest,
    DescribeAgentRequest, ExecRequest, ExecUpdate, ForkRequest, ForkResponse, GetSessionRequest, ListSessionsRequest,
    ListSessionsResponse, LogRecord, ReplayRequest, ResumeRequest, Session, SuspendRequest, WatchRequest,
};

use crate::call::Call;

/// What a record adds to the input it holds, with room to spare: every accepted input can be read back.
const RECORD_OVERHEAD: usize = 64 << 10;

/// Serves a host.
pub(crate) struct SessionsService {
    host: Host,
    ends: Ends,
}

/// What the node tells calls that only read.
pub(crate) struct Ends {
    /// A drain has begun: what would never end by itself ends now.
    pub(crate) draining: CancellationToken,
    /// Whatever the drain has left running ends now.
    pub(crate) interrupted: CancellationToken,
}

impl SessionsService {
    pub(crate) fn new(host: Host, ends: Ends) -> Self {
        Self { host, ends }
    }

    /// The gRPC service, for messages up to a size.
    pub(crate) fn server(self, max_message_size: usize) -> SessionsServer<Self> {
        SessionsServer::new(self)
            .max_decoding_message_size(max_message_size)
            .max_encoding_message_size(max_message_size.saturating_add(RECORD_OVERHEAD))
    }
}

#[async_trait]
impl Sessions for SessionsService {
    type ExecStream = BoxStream<'static, Result<ExecUpdate, Status>>;
    type ReplayStream = BoxStream<'static, Result<LogRecord, Status>>;
    type WatchStream = BoxStream<'static, Result<ExecUpdate, Status>>;

    async fn create_session(&self, request: Request<CreateSessionRequest>) -> Result<Response<Session>, Status> {
        let call = Call::enter(&request, "");
        let session = request.into_inner().session.unwrap_or_default();
        call.answer_in_time(self.host.create(session)).await
    }

    async fn get_session(&self, request: Request<GetSessionRequest>) -> Result<Response<Session>, Status> {
        let call = Call::enter(&request, &request.get_ref().uid);
        call.answer_in_time(self.host.get(&request.get_ref().uid)).await
    }

    async fn list_sessions(
        &self,
        request: Request<ListSessionsRequest>,
    ) -> Result<Response<ListSessionsResponse>, Status> {
        let call = Call::enter(&request, "");
        let response = call.answer_in_time(self.host.list(request.into_inner())).await?;
        call.count(response.get_ref().sessions.len());
        Ok(response)
    }

    async fn delete_session(&self, request: Request<DeleteSessionRequest>) -> Result<Response<Session>, Status> {
        let call = Call::enter(&request, &request.get_ref().uid);
        let context = call.context();
        call.answer_in_time(self.host.delete(request.into_inner(), context)).await
    }

    async fn exec(&self, request: Request<ExecRequest>) -> Result<Response<Self::ExecStream>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        let facts = call.facts();
        let updates = self.host.exec(request.into_inner(), call.context());
        let updates = updates.inspect(move |update| facts.name_session(session_of(update)));
        Ok(Response::new(call.stream(updates).boxed()))
    }

    async fn replay(&self, request: Request<ReplayRequest>) -> Result<Response<Self::ReplayStream>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        let cut = cut(&call, &self.ends.interrupted);
        let records = call.stream(self.host.replay(request.get_ref()));
        Ok(Response::new(until(records, cut).boxed()))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        let cut = cut(&call, &self.ends.draining);
        let updates = call.stream(self.host.watch(request.into_inner()));
        Ok(Response::new(until(updates, cut).boxed()))
    }

    async fn describe_agent(&self, request: Request<DescribeAgentRequest>) -> Result<Response<AgentType>, Status> {
        let call = Call::enter(&request, "");
        call.answer_in_time(self.host.describe_agent(&request.get_ref().agent_type)).await
    }

    async fn approve(&self, request: Request<ApproveRequest>) -> Result<Response<ApproveResponse>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        call.answer_in_time(self.host.approve(request.into_inner())).await
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<Session>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        call.answer_in_time(self.host.cancel(request.into_inner())).await
    }

    async fn suspend(&self, request: Request<SuspendRequest>) -> Result<Response<Session>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        call.answer_in_time(self.host.suspend(request.into_inner())).await
    }

    async fn resume(&self, request: Request<ResumeRequest>) -> Result<Response<Session>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        call.answer(Box::pin(self.host.resume(request.into_inner(), call.context()))).await
    }

    async fn fork(&self, request: Request<ForkRequest>) -> Result<Response<ForkResponse>, Status> {
        let call = Call::enter(&request, &request.get_ref().session);
        let response = call.answer(self.host.fork(request.into_inner(), call.context())).await?;
        call.count(response.get_ref().children.len());
        Ok(response)
    }
}

/// The uid that an update names, as the first one does.
fn session_of<E>(update: &Result<ExecUpdate, E>) -> &str {
    let update = update.as_ref().ok().and_then(|update| update.update.as_ref());
    match update {
        Some(Update::Session(session)) => session.metadata.as_ref().map_or("", |metadata| &metadata.uid),
        _ => "",
    }
}

/// What ends a stream that only reads before its own end, with the status that tells why.
fn cut(call: &Call, stopped: &CancellationToken) -> impl Future<Output = Status> + Send + use<> {
    let late = call.deadline_passed();
    let stopped = stopped.clone().cancelled_owned();
    async move {
        tokio::select! {
            late = late => late,
            () = stopped => Status::unavailable("node is shutting down; go on at another one"),
        }
    }
}

/// `items`, cut short with the status that `cut` resolves to.
fn until<T>(
    items: impl Stream<Item = Result<T, Status>>,
    cut: impl Future<Output = Status>,
) -> impl Stream<Item = Result<T, Status>> {
    let cut = cut.shared();
    let reached = cut.clone();
    let reason = stream::once(async move { reached.peek().cloned() });
    items.take_until(cut).chain(reason.filter_map(|reason| future::ready(reason.map(Err))))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn numbers() -> impl Stream<Item = Result<u8, Status>> {
        stream::iter([Ok(1), Ok(2)])
    }

    #[tokio::test]
    async fn a_stream_that_is_not_cut_ends_by_itself() {
        let whole: Vec<_> = until(numbers(), future::pending()).map(Result::unwrap).collect().await;
        assert_eq!(whole, [1, 2]);
    }

    #[tokio::test]
    async fn a_cut_stream_ends_with_the_reason() {
        let stalled = numbers().chain(stream::pending());
        let (cut, fired) = tokio::sync::oneshot::channel();
        let mut items = std::pin::pin!(until(stalled, async { fired.await.unwrap() }));
        assert_eq!(items.next().await.unwrap().unwrap(), 1);
        assert_eq!(items.next().await.unwrap().unwrap(), 2);
        cut.send(Status::unavailable("stop")).unwrap();
        assert_eq!(items.next().await.unwrap().unwrap_err().code(), Code::Unavailable);
        assert!(items.next().await.is_none());
    }
}
