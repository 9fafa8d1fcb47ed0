//! The client and its unary calls.

use std::future::Future;

use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use wire::sessions_client::SessionsClient;
use wire::{
    AgentType, ApproveRequest, ApproveResponse, CancelRequest, CreateSessionRequest, DeleteSessionRequest,
    DescribeAgentRequest, ExecRequest, ForkRequest, GetSessionRequest, ListSessionsRequest, ListSessionsResponse,
    ResumeRequest, Session, SuspendRequest,
};

use crate::call::Caller;
use crate::nodes::Nodes;
use crate::retry::Repeat;
use crate::{
    Addresses, ConnectError, Connector, Error, Exec, MAX_MESSAGE_BYTES, Options, Replay, SeqRange, SessionPages, Watch,
};

/// The nodes on a journal, any of which serves any session. Cheap to clone; clones share the connections. They are
/// re-established by themselves.
#[derive(Clone)]
pub struct Client {
    caller: Caller,
}

impl Client {
    /// Connects to the first of `addresses` that answers. When it is lost, calls go on at the next one.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(addresses: &Addresses) -> Result<Self, ConnectError> {
        Self::connect_with(addresses, Options::default()).await
    }

    /// Connects with other bounds than the default ones.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_with(addresses: &Addresses, options: Options) -> Result<Self, ConnectError> {
        let nodes = Nodes::connect(addresses, &options).await?;
        Ok(Self { caller: Caller::new(nodes, options) })
    }

    /// Connects to the host at the other end of [`crate::in_process`].
    #[must_use]
    pub fn in_process(connector: Connector) -> Self {
        Self::in_process_with(connector, Options::default())
    }

    /// The same with other bounds than the default ones.
    #[must_use]
    pub fn in_process_with(connector: Connector, options: Options) -> Self {
        let nodes = Nodes::single("the host in this process", connector.channel(&options));
        Self { caller: Caller::new(nodes, options) }
    }

    /// Creates a session. The host reads project, name, harness, model, labels, annotations, origin and identity. Made again
    /// only where no node has begun it.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn create(&self, session: Session) -> Result<Session, Error> {
        let request = CreateSessionRequest { session: Some(session) };
        self.call(Repeat::Unheard, request, async |mut sessions, request| sessions.create_session(request).await).await
    }

    /// Reads a session.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, uid: &str) -> Result<Session, Error> {
        let request = GetSessionRequest { uid: uid.to_owned() };
        self.call(Repeat::Always, request, async |mut sessions, request| sessions.get_session(request).await).await
    }

    /// All sessions of `project` (empty: the host's default project), newest first, read page by page.
    #[must_use]
    pub fn list(&self, project: &str) -> SessionPages {
        SessionPages::new(self.clone(), project, false)
    }

    /// The sessions of `project` that wait for an approval, those first that began to wait last, read page by page.
    #[must_use]
    pub fn pending(&self, project: &str) -> SessionPages {
        SessionPages::new(self.clone(), project, true)
    }

    /// One page of a listing.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn list_page(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let request = request.clone();
        self.call(Repeat::Always, request, async |mut sessions, request| sessions.list_sessions(request).await).await
    }

    /// Describes an agent type that can be invoked over [stream sessions](crate::stream).
    ///
    /// # Errors
    /// [`Error`]; NOT_FOUND if no harness offers it.
    pub async fn describe_agent(&self, agent_type: &str) -> Result<AgentType, Error> {
        let request = DescribeAgentRequest { agent_type: agent_type.to_owned() };
        self.call(Repeat::Always, request, async |mut sessions, request| sessions.describe_agent(request).await).await
    }

    /// Runs a turn; on a session that it creates first if the request names none. Nothing is sent before the first update is
    /// asked for.
    ///
    /// When its node is lost, the turn is begun or finished on another one, for as long as [`Options::turn_patience`] says. To
    /// make that safe the turn expects the head of the session, which is read first unless the request says what it is, and
    /// has an id, which is chosen here unless the request does.
    #[must_use]
    pub fn exec(&self, request: ExecRequest) -> Exec {
        Exec::new(self, request)
    }

    /// The records of a session, in order, exactly as stored. Nothing is sent before the first one is asked for.
    #[must_use]
    pub fn replay(&self, session: &str, range: SeqRange) -> Replay {
        Replay::new(self.clone(), session, range)
    }

    /// Follows a session, whichever node runs it: the session as it is, its records after `after_seq` (0: all of them), and
    /// then each record once it is durable, with the text deltas of its turns. Nothing is sent before the first update is
    /// asked for.
    #[must_use]
    pub fn watch(&self, session: &str, after_seq: i64) -> Watch {
        Watch::new(self.clone(), session, after_seq)
    }

    /// Decides a pending approval. Made again when its node is lost: a recorded decision answers an equal one.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn approve(&self, request: ApproveRequest) -> Result<ApproveResponse, Error> {
        self.call(Repeat::Always, request, async |mut sessions, request| sessions.approve(request).await).await
    }

    /// Suspends a session. Made again when its node is lost: at worst the log then has the marker twice.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn suspend(&self, uid: &str) -> Result<Session, Error> {
        let request = SuspendRequest { session: uid.to_owned() };
        self.call(Repeat::Always, request, async |mut sessions, request| sessions.suspend(request).await).await
    }

    /// Finishes an interrupted turn, if there is one, and marks the session live. Waits for the turn. Made again when its node
    /// is lost: what the first attempt has recorded is served from the log.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn resume(&self, uid: &str) -> Result<Session, Error> {
        let request = ResumeRequest { session: uid.to_owned(), ..Default::default() };
        let call = async |channel, request| sessions(channel).resume(request).await;
        self.caller.unbounded(Repeat::Always, request, call).await
    }

    /// Forks a session; the children come in the order of the request's names. Made again only where no node has begun it.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn fork(&self, request: ForkRequest) -> Result<Vec<Session>, Error> {
        let call = async |mut sessions: SessionsClient<Channel>, request| sessions.fork(request).await;
        let forked = self.call(Repeat::Unheard, request, call).await?;
        Ok(forked.children)
    }

    /// Deletes a session and answers with what is left of it. Hosts that do not grant it answer UNIMPLEMENTED. One that
    /// takes longer than the bound of a call goes on; repeating it tells when it is done. Made again when its node is lost.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn delete(&self, request: DeleteSessionRequest) -> Result<Session, Error> {
        self.call(Repeat::Always, request, async |mut sessions, request| sessions.delete_session(request).await).await
    }

    /// Ends a turn for good, whether it runs or was interrupted; the last one, if the request names none. Hosts that do
    /// not grant it answer UNIMPLEMENTED. Made again when its node is lost, if the request names the turn: the last one may
    /// be another by then.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn cancel(&self, request: CancelRequest) -> Result<Session, Error> {
        let repeat = if request.execution_id.is_empty() { Repeat::Unheard } else { Repeat::Always };
        self.call(repeat, request, async |mut sessions, request| sessions.cancel(request).await).await
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// An unary call that must be answered within the bound.
    async fn call<Q: Clone, A, F>(
        &self,
        repeat: Repeat,
        message: Q,
        call: impl Fn(SessionsClient<Channel>, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.caller.bounded(repeat, message, |channel, request| call(sessions(channel), request)).await
    }
}

pub(crate) fn sessions(channel: Channel) -> SessionsClient<Channel> {
    SessionsClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}
