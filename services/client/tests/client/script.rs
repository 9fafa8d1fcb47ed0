//! A host that answers as it is told.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use client::{Client, Listener, Options};
use env::{TaskKind, Tasks};
use futures::{Stream, stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Request, Response, Status};
use wire::exec_update::Update;
use wire::sessions_server::{Sessions, SessionsServer};
use wire::*;

/// What the host does, and what it saw.
#[derive(Clone, Default)]
pub struct Script(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    /// Records of the only session.
    pub records: i64,
    /// What can be invoked.
    pub agent_types: Vec<AgentType>,
    /// Sessions to list.
    pub sessions: Vec<Session>,
    /// Updates of every exec, then this status.
    pub updates: Vec<ExecUpdate>,
    pub exec_ends: Option<Status>,
    /// Replays and watches that end with UNAVAILABLE after this many records.
    pub interrupted_replays: usize,
    pub interrupted_after: usize,
    /// get_session never answers.
    pub silent: bool,
    /// Unary calls that are lost.
    pub losing: usize,
    pub lost: Lost,
    pub request_ids: Vec<String>,
    pub replays_from: Vec<i64>,
    pub pages: usize,
}

/// How a call is lost.
#[derive(Clone, Copy, Debug, Default)]
pub enum Lost {
    /// The node refuses it because it is going away.
    #[default]
    Refused,
    /// The connection breaks once the node has it.
    Broken,
}

impl State {
    /// The records of a replay or a watch, which may be interrupted.
    fn records(&mut self, from: i64, to: i64) -> Vec<Result<LogRecord, Status>> {
        self.replays_from.push(from);
        let to = if to == 0 { self.records } else { to.min(self.records) };
        let mut answers: Vec<_> = (from..=to).map(|seq| Ok(record(seq))).collect();
        if self.replays_from.len() <= self.interrupted_replays {
            answers.truncate(self.interrupted_after);
            answers.push(Err(Status::unavailable("going away")));
        }
        answers
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Script {
    pub fn new(set: impl FnOnce(&mut State)) -> Self {
        let script = Self::default();
        script.with(set);
        script
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    /// Serves what connects.
    pub fn serve<S, C>(self, connections: S)
    where
        S: Stream<Item = std::io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    {
        Tasks::default().spawn("scripted host", TaskKind::Background, async move {
            Server::builder().add_service(SessionsServer::new(self)).serve_with_incoming(connections).await.unwrap();
        });
    }

    /// A client of this script.
    pub fn client(&self) -> Client {
        self.client_with(Options::default())
    }

    pub fn client_with(&self, options: Options) -> Client {
        let (listener, connector) = client::in_process();
        self.clone().serve(listener);
        Client::in_process_with(connector, options)
    }

    fn seen<T>(&self, request: &Request<T>) {
        let id = request.metadata().get("x-request-id").unwrap().to_str().unwrap().to_owned();
        self.with(|state| state.request_ids.push(id));
    }

    /// An unary call, which is lost or not.
    fn take<T>(&self, request: &Request<T>) -> Result<(), Status> {
        self.seen(request);
        let lost = self.with(|state| {
            let left = state.losing.checked_sub(1)?;
            state.losing = left;
            Some(state.lost)
        });
        match lost {
            None => Ok(()),
            Some(Lost::Refused) => Err(Status::unavailable("going away")),
            // What panics in a handler takes its connection down.
            Some(Lost::Broken) => panic!("this connection is to break"),
        }
    }
}

/// Connections of which the first breaks once the host has sent `bytes`.
pub fn first_breaks_after(bytes: usize, listener: Listener) -> impl Stream<Item = std::io::Result<DuplexStream>> {
    stream::unfold((listener, Some(bytes)), |(mut listener, limit)| async move {
        let accepted = futures::StreamExt::next(&mut listener).await?.unwrap();
        let connection = match limit {
            Some(bytes) => relay(accepted, bytes),
            None => accepted,
        };
        Some((Ok(connection), (listener, None)))
    })
}

fn relay(client: DuplexStream, limit: usize) -> DuplexStream {
    let (near, far) = tokio::io::duplex(1024);
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (from_host, mut to_host) = tokio::io::split(far);
    Tasks::default().spawn("relay", TaskKind::Background, async move {
        let mut limited = from_host.take(limit as u64);
        tokio::select! {
            _ = tokio::io::copy(&mut from_client, &mut to_host) => {}
            _ = tokio::io::copy(&mut limited, &mut to_client) => {}
        }
        let _ = to_client.shutdown().await;
    });
    near
}

pub fn record(seq: i64) -> LogRecord {
    LogRecord { seq, content_hash: format!("{seq:064x}"), ..Default::default() }
}

#[tonic::async_trait]
impl Sessions for Script {
    type ExecStream = Answers<ExecUpdate>;
    type ReplayStream = Answers<LogRecord>;
    type WatchStream = Answers<ExecUpdate>;

    async fn create_session(&self, request: Request<CreateSessionRequest>) -> Result<Response<Session>, Status> {
        self.take(&request)?;
        Ok(Response::new(request.into_inner().session.unwrap_or_default()))
    }

    async fn get_session(&self, request: Request<GetSessionRequest>) -> Result<Response<Session>, Status> {
        self.take(&request)?;
        if self.with(|state| state.silent) {
            std::future::pending::<()>().await;
        }
        Err(Status::not_found(format!("no session {}", request.get_ref().uid)))
    }

    async fn list_sessions(
        &self,
        request: Request<ListSessionsRequest>,
    ) -> Result<Response<ListSessionsResponse>, Status> {
        let from: usize = request.get_ref().page_token.parse().unwrap_or(0);
        self.with(|state| {
            state.pages += 1;
            let to = (from + 2).min(state.sessions.len());
            let next_page_token = if to < state.sessions.len() { to.to_string() } else { String::new() };
            Ok(Response::new(ListSessionsResponse { sessions: state.sessions[from..to].to_vec(), next_page_token }))
        })
    }

    async fn exec(&self, request: Request<ExecRequest>) -> Result<Response<Self::ExecStream>, Status> {
        self.seen(&request);
        self.with(|state| {
            let updates = state.updates.clone().into_iter().map(Ok).collect::<Vec<_>>();
            let end = state.exec_ends.clone().map(Err);
            Ok(Response::new(Box::pin(stream::iter(updates.into_iter().chain(end))) as Answers<ExecUpdate>))
        })
    }

    async fn replay(&self, request: Request<ReplayRequest>) -> Result<Response<Self::ReplayStream>, Status> {
        self.seen(&request);
        let asked = request.into_inner();
        let answers = self.with(|state| state.records(asked.from_seq, asked.to_seq));
        Ok(Response::new(Box::pin(stream::iter(answers))))
    }

    async fn describe_agent(&self, request: Request<DescribeAgentRequest>) -> Result<Response<AgentType>, Status> {
        self.take(&request)?;
        let name = &request.get_ref().agent_type;
        let found = self.with(|state| state.agent_types.iter().find(|found| found.name == *name).cloned());
        found.map(Response::new).ok_or_else(|| Status::not_found("no such agent type"))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        self.seen(&request);
        let answers = self.with(|state| state.records(request.get_ref().after_seq + 1, 0));
        let updates = answers.into_iter().map(|answer| answer.map(Update::Record));
        let updates = std::iter::once(Ok(Update::Session(Session::default()))).chain(updates);
        let frames = updates.map(|update| update.map(|update| ExecUpdate { update: Some(update) }));
        Ok(Response::new(Box::pin(stream::iter(frames.collect::<Vec<_>>()))))
    }

    async fn fork(&self, request: Request<ForkRequest>) -> Result<Response<ForkResponse>, Status> {
        self.take(&request)?;
        let children = request.get_ref().child_names.iter().map(|name| Session {
            metadata: Some(ResourceMetadata { name: name.clone(), ..Default::default() }),
            ..Default::default()
        });
        Ok(Response::new(ForkResponse { children: children.collect() }))
    }

    async fn delete_session(&self, _: Request<DeleteSessionRequest>) -> Result<Response<Session>, Status> {
        Err(Status::unimplemented("DeleteSession"))
    }

    async fn approve(&self, request: Request<ApproveRequest>) -> Result<Response<ApproveResponse>, Status> {
        self.take(&request)?;
        Err(Status::failed_precondition("no gate"))
    }

    async fn cancel(&self, _: Request<CancelRequest>) -> Result<Response<Session>, Status> {
        Err(Status::unimplemented("Cancel"))
    }

    async fn suspend(&self, request: Request<SuspendRequest>) -> Result<Response<Session>, Status> {
        self.take(&request)?;
        Ok(Response::new(Session { compute_state: ComputeState::ComputeCold.into(), ..Default::default() }))
    }

    async fn resume(&self, request: Request<ResumeRequest>) -> Result<Response<Session>, Status> {
        self.take(&request)?;
        Ok(Response::new(Session { compute_state: ComputeState::ComputeLive.into(), ..Default::default() }))
    }
}
