//! The Sessions service as the suites call it.

use std::time::Duration;

use futures::TryStreamExt;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};
use wire::exec_update::Update;
use wire::sessions_client::SessionsClient;
use wire::verify::Verifier;
use wire::{
    ApprovalRef, ApproveRequest, ApproveResponse, EventKind, ExecRequest, ExecUpdate, ForkRequest, ListSessionsRequest,
    LogRecord, Message, ReplayRequest, Session, SuspendRequest,
};

/// A client of one node.
#[derive(Clone, Debug)]
pub struct Api {
    /// The generated client, for what has no shorthand here.
    pub client: SessionsClient<Channel>,
}

/// Connects to a node at `host:port`.
pub async fn connect(address: &str) -> Api {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .expect("host:port makes a URI")
        .connect_timeout(Duration::from_secs(5));
    let channel = endpoint.connect().await.expect("the node accepts connections");
    let client = SessionsClient::new(channel).max_decoding_message_size(usize::MAX);
    Api { client }
}

/// A user message of one text part.
#[must_use]
pub fn text(text: &str) -> Message {
    Message::text("user", text)
}

/// The kinds of records, in order.
#[must_use]
pub fn kinds(records: &[LogRecord]) -> Vec<EventKind> {
    records.iter().map(|record| record.event.as_ref().map_or(EventKind::Unspecified, |event| event.kind())).collect()
}

/// A decision on the gate at which a session waits.
#[must_use]
pub fn decision(session: &str, gate: &ApprovalRef, approved: bool) -> ApproveRequest {
    ApproveRequest {
        session: session.into(),
        execution_id: gate.execution_id.clone(),
        tool_call_id: gate.tool_call_id.clone(),
        request_seq: gate.request_seq,
        approved: Some(approved),
        ..ApproveRequest::default()
    }
}

/// The record that an update carries.
#[must_use]
pub fn record(update: ExecUpdate) -> Option<LogRecord> {
    match update.update {
        Some(Update::Record(record)) => Some(record),
        _ => None,
    }
}

impl Api {
    /// Creates a session on a harness.
    pub async fn create(&mut self, harness: &str) -> Session {
        let session = Session { harness: harness.into(), ..Session::default() };
        let request = wire::CreateSessionRequest { session: Some(session) };
        self.client.create_session(request).await.expect("session is created").into_inner()
    }

    /// Runs a turn to its end and returns all updates, with the failure that ended them if one did.
    pub async fn exec(&mut self, request: ExecRequest) -> (Vec<ExecUpdate>, Option<Status>) {
        let mut stream: Streaming<ExecUpdate> = match self.client.exec(request).await {
            Ok(response) => response.into_inner(),
            Err(status) => return (Vec::new(), Some(status)),
        };
        let mut updates = Vec::new();
        loop {
            match stream.message().await {
                Ok(Some(update)) => updates.push(update),
                Ok(None) => return (updates, None),
                Err(status) => return (updates, Some(status)),
            }
        }
    }

    /// Runs a turn that must succeed and returns its records.
    pub async fn turn(&mut self, session: &str, input: &str) -> Vec<LogRecord> {
        let request = ExecRequest { session: session.into(), inputs: vec![text(input)], ..ExecRequest::default() };
        let (updates, failure) = self.exec(request).await;
        assert!(failure.is_none(), "turn failed: {failure:?}");
        updates.into_iter().filter_map(record).collect()
    }

    /// The whole log of the only session of a project.
    pub async fn only_log(&mut self, project: &str) -> Vec<LogRecord> {
        let request = ListSessionsRequest { project: project.into(), ..ListSessionsRequest::default() };
        let sessions = self.client.list_sessions(request).await.expect("sessions are listed").into_inner().sessions;
        let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
        let uid = &session.metadata.as_ref().expect("a session has metadata").uid;
        self.log(uid).await
    }

    /// The whole log of a session, with its chain checked.
    pub async fn log(&mut self, session: &str) -> Vec<LogRecord> {
        let request = ReplayRequest { session: session.into(), ..ReplayRequest::default() };
        let stream = self.client.replay(request).await.expect("replay starts").into_inner();
        let records: Vec<LogRecord> = stream.try_collect().await.expect("replay ends well");
        let mut verifier = Verifier::new();
        for record in &records {
            verifier.check(record).expect("the chain verifies");
        }
        records
    }

    /// Finishes the interrupted turn of a session.
    pub async fn resume(&mut self, session: &str) -> Result<Session, Status> {
        let request = wire::ResumeRequest { session: session.into(), ..wire::ResumeRequest::default() };
        self.client.resume(request).await.map(tonic::Response::into_inner)
    }

    /// Puts the compute of a session away.
    pub async fn suspend(&mut self, session: &str) -> Result<Session, Status> {
        self.client.suspend(SuspendRequest { session: session.into() }).await.map(tonic::Response::into_inner)
    }

    /// Records a decision.
    pub async fn approve(&mut self, request: ApproveRequest) -> Result<ApproveResponse, Status> {
        self.client.approve(request).await.map(tonic::Response::into_inner)
    }

    /// Makes children of a session.
    pub async fn fork(&mut self, request: ForkRequest) -> Result<Vec<Session>, Status> {
        self.client.fork(request).await.map(|response| response.into_inner().children)
    }

    /// The session as it is.
    pub async fn get(&mut self, session: &str) -> Result<Session, Status> {
        let request = wire::GetSessionRequest { uid: session.into() };
        self.client.get_session(request).await.map(tonic::Response::into_inner)
    }
}
