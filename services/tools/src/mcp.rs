//! Executors that are MCP servers.

mod connection;
mod content;
mod error;
mod launch;
mod restarts;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use env::Env;
use journal::SessionUid;
use rmcp::model::CallToolRequestParams;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};
use wire::{ToolCall, ToolResult};

use self::connection::Connection;
use self::launch::Launch;
use self::restarts::Restarts;
use crate::call::{CallError, Executor};
use crate::config::{Fault, Plan, Program, Remote};
use crate::credentials::Variables;
use crate::retry::Retries;

/// Longest start, from the process or connection to the end of the handshake.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A server, connected to when a call needs it.
pub(crate) struct Server {
    launch: Launch,
    state: Mutex<State>,
    env: Env,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    restarts: Restarts,
}

impl Server {
    pub(crate) fn remote(plan: &Plan, remote: &Remote, variables: &Variables, env: &Env) -> Result<Self, Vec<Fault>> {
        Ok(Self::new(Launch::remote(plan, remote, variables)?, env))
    }

    pub(crate) fn program(
        plan: &Plan,
        program: &Program,
        variables: &Variables,
        env: &Env,
    ) -> Result<Self, Vec<Fault>> {
        Ok(Self::new(Launch::program(plan, program, variables)?, env))
    }

    fn new(launch: Launch, env: &Env) -> Self {
        Self { launch, state: Mutex::default(), env: env.clone() }
    }

    async fn attempt(&self, params: CallToolRequestParams) -> Result<ToolResult, CallError> {
        let connection = self.connection().await?;
        connection.call(params).await
    }

    /// The connection to a server that lives; starts one if there is none.
    async fn connection(&self) -> Result<Arc<Connection>, CallError> {
        // Held while a server starts: whoever else needs it waits for that very start.
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection {
            if !connection.has_ended() {
                return Ok(connection.clone());
            }
            let served = connection.has_served();
            state.connection = None;
            state.restarts.ended(served, Instant::now());
        }
        sleep_until(state.restarts.not_before()).await;
        let started = timeout(START_TIMEOUT, self.launch.start()).await;
        match started.unwrap_or_else(|_elapsed| Err(CallError::NotStarted("no handshake in time".into()))) {
            Ok(connection) => Ok(state.connection.insert(Arc::new(connection)).clone()),
            Err(error) => {
                state.restarts.ended(false, Instant::now());
                Err(error)
            }
        }
    }
}

#[async_trait]
impl Executor for Server {
    async fn call(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, CallError> {
        let params = content::params(session, call)?;
        let mut retries = Retries::new(&self.env);
        loop {
            match self.attempt(params.clone()).await {
                Ok(result) => return Ok(result),
                Err(error) => retries.or_fail(error).await?,
            }
        }
    }
}
