//! A session, and how one is begun.

use std::sync::Arc;

use env::{Env, TaskKind, Tasks};
use stream_session::Refusal;
use stream_session::checkpoint::Checkpoint;
use stream_session::client::{Action, Client, InputId};
use stream_session::message::{ClientReason, InvocationOutcome, Operation, ServerReason};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::connect::Connector;
use super::driver::{Driver, Keeper};
use super::resume::resume;
use super::shared::{Shared, Told};
use super::{Call, CheckpointFile, Credential, Endpoints, Error, Input, Options, Output, ResumeError, Returned, Trust};

/// Begins sessions. Cheap to clone.
#[derive(Clone)]
pub struct Invoker {
    endpoints: Endpoints,
    credential: Credential,
    trust: Option<Trust>,
    options: Options,
    env: Env,
}

/// An invocation under way. Dropped before its end it is [left](Self::leave).
pub struct Session {
    shared: Arc<Shared>,
    inputs: Vec<InputId>,
    stop: CancellationToken,
}

/// What happens to a session, besides the items of its outputs.
pub enum Update {
    /// There is no connection, or it was lost. The next one is tried, for five minutes.
    Lost {
        /// Where.
        endpoint: String,
        /// Why, for people.
        cause: String,
    },
    /// The session exists, or goes on, on the connection to this address.
    Accepted {
        /// Where.
        endpoint: String,
    },
    /// The method returned; `None` if it returns nothing. Comes once.
    Returned(Option<Returned>),
    /// There is an output. What the application does not want it drops.
    Output(Output),
    /// The agent has no use for an input any more.
    InputCancelled {
        /// The input: which one of those that [`Session::take_inputs`] gives.
        input: usize,
        /// Why.
        reason: ServerReason,
    },
}

impl Invoker {
    /// Begins sessions at these addresses, as the caller whose token `credential` is.
    #[must_use]
    pub fn new(endpoints: Endpoints, credential: Credential) -> Self {
        let options = Options::default();
        Self { endpoints, credential, trust: None, options, env: Env::system() }
    }

    /// Believes these authorities: needed for `wss` addresses.
    #[must_use]
    pub fn trusting(self, trust: Trust) -> Self {
        Self { trust: Some(trust), ..self }
    }

    /// With other bounds than the default ones.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Starts an invocation, kept in `file` if one is given. To be called within a tokio runtime.
    ///
    /// # Errors
    /// The call is not of the method's types. Nothing was sent.
    pub fn start(&self, call: &Call, file: Option<CheckpointFile>) -> Result<Session, Refusal> {
        let (client, first) = Client::start(call.start(self.fresh())?);
        Ok(self.begin(client, first, file))
    }

    /// Goes on with a session that an earlier process has left, kept in `file` from now on. `call` is what was called; which
    /// streams are in it and how they are named does not matter.
    ///
    /// # Errors
    /// [`ResumeError`]. Nothing was sent.
    pub fn resume(
        &self,
        call: &Call,
        left: &Checkpoint,
        operation: Operation,
        file: Option<CheckpointFile>,
    ) -> Result<Session, ResumeError> {
        let (client, first) = resume(call, left, operation, self.fresh())?;
        Ok(self.begin(client, first, file))
    }

    /// A fresh name for an input.
    #[must_use]
    pub fn reference(&self) -> Uuid {
        self.fresh()
    }

    fn fresh(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.env.random_bytes()).into_uuid()
    }

    fn begin(&self, client: Client, first: Vec<Action>, file: Option<CheckpointFile>) -> Session {
        let inputs = client.inputs().collect();
        let shared = Arc::new(Shared::new(client, first, file.is_some(), self.env.clone()));
        let Self { endpoints, credential, trust, options, .. } = self.clone();
        let driver = Driver {
            shared: Arc::clone(&shared),
            connector: Connector::new(endpoints, credential, trust, options.clone()),
            options,
            keeper: Keeper::new(Arc::clone(&shared), file),
        };
        let tasks = Tasks::default();
        let stopped = tasks.cancelled(TaskKind::Background);
        let dropped = stopped.clone();
        tasks.spawn("stream-session", TaskKind::Background, async move {
            tokio::select! {
                () = dropped.cancelled() => {}
                () = driver.run() => {}
            }
        });
        Session { shared, inputs, stop: stopped }
    }
}

impl Session {
    /// The inputs that the call introduces, in the order in which they stand in it. Can be taken once.
    pub fn take_inputs(&mut self) -> Vec<Input> {
        let inputs = std::mem::take(&mut self.inputs);
        inputs.into_iter().map(|id| Input::new(Arc::clone(&self.shared), id)).collect()
    }

    /// The input that an item which was written names so.
    #[must_use]
    pub fn input_named(&self, reference: Uuid) -> Option<Input> {
        let id = self.shared.state().client.input_named(reference)?;
        Some(Input::new(Arc::clone(&self.shared), id))
    }

    /// What happens next; `None` once the session is over, when [`Self::outcome`] says how. Cancel-safe.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            let told = {
                let mut state = self.shared.state();
                let told = state.updates.pop_front();
                if told.is_none() && state.ended.is_some() {
                    return None;
                }
                told
            };
            match told {
                Some(told) => return Some(self.update(told)),
                None => self.shared.updated.notified().await,
            }
        }
    }

    fn update(&self, told: Told) -> Update {
        match told {
            Told::Lost { endpoint, cause } => Update::Lost { endpoint, cause },
            Told::Accepted { endpoint } => Update::Accepted { endpoint },
            Told::Returned(returned) => Update::Returned(returned),
            Told::Output(id, token) => Update::Output(Output::new(Arc::clone(&self.shared), id, token)),
            Told::InputCancelled(id, reason) => {
                let input = self.shared.state().client.inputs().position(|input| input == id).unwrap_or_default();
                Update::InputCancelled { input, reason }
            }
        }
    }

    /// How it came to its end; `None` as long as it goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<InvocationOutcome, Error>> {
        self.shared.state().ended.clone()
    }

    /// Cancels every stream that is open.
    pub fn cancel(&self, reason: ClientReason) {
        self.shared.cancel(reason);
    }

    /// Leaves the session to itself: the connection is dropped, the agent goes on, nothing that is dropped from now on is
    /// cancelled, and whoever has the checkpoint may resume it.
    pub fn leave(&self) {
        self.shared.leave();
        self.stop.cancel();
    }

    /// Waits until the checkpoint says what was confirmed.
    ///
    /// # Errors
    /// [`Error::Checkpoint`].
    pub async fn saved(&self) -> Result<(), Error> {
        loop {
            let saving = self.shared.saving.notified();
            tokio::pin!(saving);
            saving.as_mut().enable();
            if let Some(Err(error @ Error::Checkpoint(_))) = self.outcome() {
                return Err(error);
            }
            if !self.shared.is_behind() {
                return Ok(());
            }
            saving.await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave();
    }
}
