//! The client and its unary calls.

use std::future::Future;

use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use wire::sessions_client::SessionsClient;
use wire::{
    ApproveRequest, ApproveResponse, CancelRequest, CreateSessionRequest, DeleteSessionRequest, ExecRequest,
    ForkRequest, GetSessionRequest, ListSessionsRequest, ListSessionsResponse, ResumeRequest, Session, SuspendRequest,
};

use crate::call::{Caller, answer};
use crate::retry::repeat;
use crate::{
    Address, ConnectError, Connector, Error, Exec, MAX_MESSAGE_BYTES, Options, Replay, SeqRange, SessionPages,
};

/// A connection to a host. Cheap to clone; clones share the connection. It is re-established by itself.
#[derive(Clone)]
pub struct Client {
    sessions: SessionsClient<Channel>,
    caller: Caller,
}

impl Client {
    /// Connects to `address`, see [`Address`].
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(address: &str) -> Result<Self, ConnectError> {
        Self::connect_with(address, Options::default()).await
    }

    /// Connects to `address` with other bounds than the default ones.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_with(address: &str, options: Options) -> Result<Self, ConnectError> {
        let address: Address = address.parse()?;
        Ok(Self::new(address.connect(&options).await?, options))
    }

    /// Connects to the host at the other end of [`crate::in_process`].
    #[must_use]
    pub fn in_process(connector: Connector) -> Self {
        let options = Options::default();
        Self::new(connector.channel(&options), options)
    }

    fn new(channel: Channel, options: Options) -> Self {
        let sessions = SessionsClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Self { sessions, caller: Caller::new(options) }
    }

    /// Creates a session. The host reads project, name, harness, model, labels, annotations, origin and identity.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn create(&self, session: Session) -> Result<Session, Error> {
        let request = CreateSessionRequest { session: Some(session) };
        self.bounded(request, async |mut sessions, request| sessions.create_session(request).await).await
    }

    /// Reads a session. Repeated when the connection breaks.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, uid: &str) -> Result<Session, Error> {
        repeat(&self.options().retry, || {
            let request = GetSessionRequest { uid: uid.to_owned() };
            self.bounded(request, async |mut sessions, request| sessions.get_session(request).await)
        })
        .await
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

    /// One page of a listing. Repeated when the connection breaks.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn list_page(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        repeat(&self.options().retry, || {
            self.bounded(request.clone(), async |mut sessions, request| sessions.list_sessions(request).await)
        })
        .await
    }

    /// Runs a turn; on a session that it creates first if the request names none.
    ///
    /// # Errors
    /// [`Error`], if the host refuses before its first frame.
    pub async fn exec(&self, request: ExecRequest) -> Result<Exec, Error> {
        let (request, id) = self.request(request);
        match self.sessions.clone().exec(request).await {
            Ok(updates) => Ok(Exec::new(updates.into_inner(), id)),
            Err(status) => Err(Error::from_status(&status, &id)),
        }
    }

    /// The records of a session, in order, exactly as stored. Nothing is sent before the first one is asked for.
    #[must_use]
    pub fn replay(&self, session: &str, range: SeqRange) -> Replay {
        Replay::new(self.clone(), session, range)
    }

    /// Decides a pending approval.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn approve(&self, request: ApproveRequest) -> Result<ApproveResponse, Error> {
        self.bounded(request, async |mut sessions, request| sessions.approve(request).await).await
    }

    /// Suspends a session.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn suspend(&self, uid: &str) -> Result<Session, Error> {
        let request = SuspendRequest { session: uid.to_owned() };
        self.bounded(request, async |mut sessions, request| sessions.suspend(request).await).await
    }

    /// Finishes an interrupted turn, if there is one, and marks the session live. Waits for the turn.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn resume(&self, uid: &str) -> Result<Session, Error> {
        let (request, id) = self.request(ResumeRequest { session: uid.to_owned(), ..Default::default() });
        answer(self.sessions.clone().resume(request).await, &id)
    }

    /// Forks a session; the children come in the order of the request's names.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn fork(&self, request: ForkRequest) -> Result<Vec<Session>, Error> {
        let forked = self.bounded(request, async |mut sessions, request| sessions.fork(request).await).await?;
        Ok(forked.children)
    }

    /// Deletes a session and answers with what is left of it. Hosts that do not grant it answer UNIMPLEMENTED. One that
    /// takes longer than the bound of a call goes on; repeating it tells when it is done.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn delete(&self, request: DeleteSessionRequest) -> Result<Session, Error> {
        self.bounded(request, async |mut sessions, request| sessions.delete_session(request).await).await
    }

    /// Ends a turn for good, whether it runs or was interrupted; the last one, if the request names none. Hosts that do
    /// not grant it answer UNIMPLEMENTED.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn cancel(&self, request: CancelRequest) -> Result<Session, Error> {
        self.bounded(request, async |mut sessions, request| sessions.cancel(request).await).await
    }

    pub(crate) fn sessions(&self) -> SessionsClient<Channel> {
        self.sessions.clone()
    }

    pub(crate) fn options(&self) -> &Options {
        self.caller.options()
    }

    /// Wraps a message with a fresh request id.
    pub(crate) fn request<T>(&self, message: T) -> (Request<T>, String) {
        self.caller.request(message)
    }

    /// An unary call that must be answered within the bound.
    async fn bounded<Q, A, F>(
        &self,
        message: Q,
        call: impl FnOnce(SessionsClient<Channel>, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.caller.bounded(message, |request| call(self.sessions.clone(), request)).await
    }
}
