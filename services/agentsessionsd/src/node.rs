//! Assembles a node from its parts and takes it apart again.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use controller::{Host, HostParts};
use env::{Env, TaskKind, Tasks};
use frontend::{Frontend, tcp_incoming};
use futures::Stream;
use harness::DirectoryProblem;
use journal::Journal;
use model::{ApiKey, InvalidApiKey, InvalidModelConfig};
use store::embedded::{Embedded, EmbeddedOptions};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::config::{Config, ListenAddr};
use crate::ready_file::ReadyFile;

/// Longest time from the end of the drain timeout to the end of [`Node::stop`].
pub const STOP_BOUND: Duration = Duration::from_secs(5);

/// The parts of [`STOP_BOUND`]: interrupted calls record so; then tasks end; then the store closes. The rest of it is
/// for clients to disconnect.
const INTERRUPT_BOUND: Duration = Duration::from_secs(2);
const TASKS_BOUND: Duration = Duration::from_millis(800);
const STORE_BOUND: Duration = Duration::from_millis(800);

/// A node could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The journal's file cannot be opened.
    #[error("journal {path} cannot be opened: {source}")]
    Store {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: store::embedded::OpenError,
    },
    /// What is in the file is not a journal this version reads.
    #[error("journal {path} cannot be read: {source}")]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: journal::OpenError,
    },
    /// The configured harnesses contradict each other.
    #[error("harnesses are misconfigured: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Harnesses(Vec<DirectoryProblem>),
    /// The model provider cannot be set up.
    #[error(transparent)]
    Model(#[from] InvalidModelConfig),
    /// The model provider's key cannot be used.
    #[error(transparent)]
    ApiKey(#[from] InvalidApiKey),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: ListenAddr,
        /// What is wrong.
        source: io::Error,
    },
    /// The services cannot be served.
    #[error(transparent)]
    Frontend(#[from] frontend::StartError),
    /// The ready file cannot be written.
    #[error("ready file {path} cannot be written: {source}")]
    ReadyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The failpoint is not understood.
    #[cfg(feature = "failpoints")]
    #[error(transparent)]
    Failpoint(#[from] crate::failpoint::InvalidFailpoint),
}

/// A running node.
pub struct Node {
    parts: Parts,
    frontend: Frontend,
    drain_timeout: Duration,
    addr: Option<SocketAddr>,
    ready: Option<ReadyFile>,
}

/// What a node is without its listener.
struct Parts {
    env: Env,
    tasks: Tasks,
    store: Embedded,
    host: Host,
}

impl Node {
    /// Starts a node that listens as `config` says.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(config: &Config, env: Env) -> Result<Self, StartError> {
        let ready_error = |source| {
            let path = config.ready_file.clone().unwrap_or_default();
            StartError::ReadyFile { path, source }
        };
        config.ready_file.as_deref().map_or(Ok(()), ReadyFile::clear).map_err(ready_error)?;
        let parts = Parts::assemble(config, env).await?;
        let (socket, addr) = bind(&config.addr).await?;
        let mut node = Self::serve(config, parts, tcp_incoming(socket)).await?;
        node.addr = Some(addr);
        if let Some(path) = &config.ready_file {
            node.ready = Some(ReadyFile::write(path, addr).map_err(ready_error)?);
        }
        let journal = config.journal.display();
        tracing::info!(%addr, %journal, version = env!("CARGO_PKG_VERSION"), "listening on {addr}");
        Ok(node)
    }

    /// Starts a node that serves the connections of `incoming` and listens nowhere.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn in_process<I, C>(config: &Config, env: Env, incoming: I) -> Result<Self, StartError>
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self::serve(config, Parts::assemble(config, env).await?, incoming).await
    }

    async fn serve<I, C>(config: &Config, parts: Parts, incoming: I) -> Result<Self, StartError>
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Parts { env, tasks, host, .. } = &parts;
        let frontend = Frontend::start(incoming, host.clone(), env.clone(), tasks, &config.listener()).await?;
        Ok(Self { parts, frontend, drain_timeout: config.drain_timeout.get(), addr: None, ready: None })
    }

    /// The address it listens on, if it does.
    #[must_use]
    pub fn addr(&self) -> Option<SocketAddr> {
        self.addr
    }

    /// The host inside, for callers that need no connection.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.parts.host
    }

    /// Drains and stops the node: refuses new calls, lets those under way go on for the drain timeout, interrupts what
    /// is left, so that it can be resumed, and closes everything. Returns within [`STOP_BOUND`] after that timeout.
    pub async fn stop(self) {
        let Self { parts, frontend, drain_timeout, ready, .. } = self;
        drop(ready);
        frontend.refuse_new_calls().await;
        tracing::info!(calls = frontend.live_calls(), "draining");
        if !frontend.idle_within(drain_timeout).await {
            tracing::warn!(calls = frontend.live_calls(), "drain timeout passed, interrupting calls");
        }
        parts.tasks.cancelled(TaskKind::Request).cancel();
        if !frontend.idle_within(INTERRUPT_BOUND).await {
            tracing::warn!(calls = frontend.live_calls(), "calls did not end, cutting them off");
        }
        frontend.close().await;
        parts.close().await;
        tracing::info!("stopped");
    }
}

impl Parts {
    async fn assemble(config: &Config, env: Env) -> Result<Self, StartError> {
        let directory = config.directory().map_err(StartError::Harnesses)?;
        let models = model::provider(&config.model.provider(), ApiKey::from_environment()?, env.clone())?;
        let path = || config.journal.clone();
        let engine = Embedded::open(&config.journal, EmbeddedOptions::default())
            .map_err(|source| StartError::Store { path: path(), source })?;
        let journal = Journal::open(open_store(engine.clone(), env.clone())?, env.clone())
            .await
            .map_err(|source| StartError::Journal { path: path(), source })?;
        let tasks = Tasks::default();
        let host = Host::new(HostParts {
            journal,
            env: env.clone(),
            tasks: tasks.clone(),
            harnesses: Arc::new(directory),
            models,
            tools: None,
            default_project: config.project.clone(),
        });
        Ok(Self { env, tasks, store: engine, host })
    }

    async fn close(self) {
        let left = self.tasks.shutdown(Duration::ZERO, TASKS_BOUND).await;
        if left > 0 {
            tracing::warn!(left, "tasks did not end");
        }
        if tokio::time::timeout(STORE_BOUND, self.store.close()).await.is_err() {
            tracing::warn!("store did not close in time");
        }
    }
}

#[cfg(feature = "failpoints")]
fn open_store(engine: Embedded, env: Env) -> Result<store::Store, StartError> {
    Ok(crate::failpoint::store(engine, env)?)
}

#[cfg(not(feature = "failpoints"))]
fn open_store(engine: Embedded, env: Env) -> Result<store::Store, StartError> {
    Ok(store::Store::new(engine, env))
}

async fn bind(addr: &ListenAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let socket = TcpListener::bind(addr.to_bind()).await?;
        let addr = socket.local_addr()?;
        Ok((socket, addr))
    };
    bound.await.map_err(|source| StartError::Listen { addr: addr.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_ready_file_is_there_exactly_while_the_node_takes_calls() {
        let directory = tempfile::tempdir().unwrap();
        let ready = directory.path().join("ready");
        std::fs::write(&ready, "left over").unwrap();
        let config = Config {
            addr: ListenAddr::loopback(0),
            journal: directory.path().join("journal.db"),
            ready_file: Some(ready.clone()),
            ..Config::default()
        };
        let node = Node::start(&config, Env::system()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&ready).unwrap().trim(), node.addr().unwrap().to_string());
        node.stop().await;
        assert!(!ready.exists());
    }
}
