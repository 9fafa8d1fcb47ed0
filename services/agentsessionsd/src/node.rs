//! Assembles a node from its parts and takes it apart again.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cluster::NatsProblem;
use controller::{Host, HostParts, Registry, RegistryOpenError, RegistryParts};
use env::{Env, TaskKind, Tasks};
use frontend::{Frontend, StreamFrontend, tcp_incoming};
use futures::Stream;
use harness::DirectoryProblem;
use model::{InvalidApiKey, InvalidModelConfig};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tools::InvalidTools;

use crate::config::{Config, InvalidNatsCredentials, JournalPlace, ListenAddr};
use crate::coordination::{self, Coordination};
use crate::effects::Effects;
use crate::fronts::Fronts;
use crate::local_journal::LocalJournal;
use crate::ready_file::{Addresses, ReadyFile};
use crate::streams::{self, StreamsError};
use crate::telemetry::{self, Metrics};

/// Longest time from the end of the drain timeout to the end of [`Node::stop`].
pub const STOP_BOUND: Duration = Duration::from_secs(5);

/// The parts of [`STOP_BOUND`]: interrupted calls record so; then tasks end; then the store closes. The rest of it is
/// for clients to disconnect.
const INTERRUPT_BOUND: Duration = Duration::from_secs(2);
const TASKS_BOUND: Duration = Duration::from_millis(800);
pub(crate) const STORE_BOUND: Duration = Duration::from_millis(800);

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
    /// The file is the journal of the reference host.
    #[error(
        "{path} is a journal of the reference host; `agentctl import {path} --journal NEW` carries it into a new journal",
        path = .0.display()
    )]
    ReferenceJournal(PathBuf),
    /// The journal's cluster cannot be opened.
    #[cfg(feature = "fdb")]
    #[error("journal fdb:{file} cannot be opened: {source}", file = file.display())]
    Cluster {
        /// The cluster file.
        file: PathBuf,
        /// What is wrong.
        source: store::fdb::OpenError,
    },
    /// What is there is not a journal this version reads.
    #[error("journal {place} cannot be read: {source}")]
    Journal {
        /// Where.
        place: JournalPlace,
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
    /// The executors of tools cannot be set up.
    #[error(transparent)]
    Tools(#[from] InvalidTools),
    /// NATS cannot be set up.
    #[error("nats: {0}")]
    Nats(#[from] NatsProblem),
    /// The credentials for NATS cannot be used.
    #[error("nats: {0}")]
    NatsCredentials(#[from] InvalidNatsCredentials),
    /// The endpoint of stream sessions cannot be set up.
    #[error(transparent)]
    Streams(#[from] StreamsError),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: String,
        /// What is wrong.
        source: io::Error,
    },
    /// Operators would be where everybody is.
    #[error("the registry listener {registry} must not have the port of the Sessions listener {sessions}")]
    SharedPort {
        /// Where sessions are served.
        sessions: SocketAddr,
        /// Where operators are listened to.
        registry: SocketAddr,
    },
    /// The registered harnesses do not allow the node to run.
    #[error(transparent)]
    Registry(#[from] RegistryOpenError),
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
    fronts: Fronts,
    drain_timeout: Duration,
    addr: Option<SocketAddr>,
    registry_addr: Option<SocketAddr>,
    streams_addr: Option<SocketAddr>,
    metrics_addr: Option<SocketAddr>,
    ready: Option<ReadyFile>,
    draining: CancellationToken,
}

/// What a node is without its listeners.
struct Parts {
    env: Env,
    tasks: Tasks,
    journal: LocalJournal,
    host: Host,
    registry: Registry,
    coordination: Coordination,
}

impl Node {
    /// Looks whether a node could start as `config` says, as far as that shows without starting anything: at the
    /// environment, and at the files that hold credentials.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn check(config: &Config, env: &Env) -> Result<(), StartError> {
        Effects::configured(config, env)?;
        coordination::configured(config)?;
        streams::Files::open(&config.streams).map_err(StreamsError::File)?;
        Ok(())
    }

    /// Starts a node that listens as `config` says.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(config: &Config, env: Env) -> Result<Self, StartError> {
        let effects = Effects::configured(config, &env)?;
        Self::start_with(config, env, effects).await
    }

    /// Starts a node that listens as `config` says, with other models and tools than it says.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_with(config: &Config, env: Env, effects: Effects) -> Result<Self, StartError> {
        let ready_error = |source| {
            let path = config.ready_file.clone().unwrap_or_default();
            StartError::ReadyFile { path, source }
        };
        config.ready_file.as_deref().map_or(Ok(()), ReadyFile::clear).map_err(ready_error)?;
        let parts = Parts::assemble(config, env, effects).await?;
        let (socket, addr) = bind(config.addr.to_bind()).await?;
        let operators = bind_registry(config, addr).await?;
        let clients = bind_optional(config.streams.addr.get()).await?;
        let watchers = bind_optional(config.telemetry.metrics_addr.get()).await?;
        let mut node = Self::serve(config, parts, tcp_incoming(socket)).await?;
        node.addr = Some(addr);
        node.parts.coordination.set_address(addr);
        if let Some((socket, addr)) = operators {
            node.serve_registry(config, socket, addr).await?;
        }
        if let Some((socket, addr)) = clients {
            node.serve_streams(config, socket, addr).await?;
        }
        if let Some((socket, addr)) = watchers {
            node.serve_metrics(socket, addr);
        }
        if let Some(path) = &config.ready_file {
            let addresses = Addresses {
                sessions: addr,
                registry: node.registry_addr,
                metrics: node.metrics_addr,
                streams: node.streams_addr,
            };
            node.ready = Some(ReadyFile::write(path, &addresses).map_err(ready_error)?);
        }
        let journal = &config.journal;
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
        let effects = Effects::configured(config, &env)?;
        Self::serve(config, Parts::assemble(config, env, effects).await?, incoming).await
    }

    async fn serve<I, C>(config: &Config, parts: Parts, incoming: I) -> Result<Self, StartError>
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Parts { env, tasks, host, .. } = &parts;
        let sessions = Frontend::start(incoming, host.clone(), env.clone(), tasks, &config.listener()).await?;
        let fronts = Fronts { sessions, registry: None, streams: None };
        let drain_timeout = config.drain_timeout.get();
        Ok(Self {
            parts,
            fronts,
            drain_timeout,
            addr: None,
            registry_addr: None,
            streams_addr: None,
            metrics_addr: None,
            ready: None,
            draining: CancellationToken::new(),
        })
    }

    async fn serve_registry(
        &mut self,
        config: &Config,
        socket: TcpListener,
        addr: SocketAddr,
    ) -> Result<(), StartError> {
        let Parts { env, tasks, registry, .. } = &self.parts;
        let (incoming, options) = (tcp_incoming(socket), config.listener());
        let front = Frontend::start_registry(incoming, registry.clone(), env.clone(), tasks, &options).await?;
        self.fronts.registry = Some(front);
        self.registry_addr = Some(addr);
        tracing::info!(%addr, "listening to operators on {addr}");
        Ok(())
    }

    async fn serve_streams(
        &mut self,
        config: &Config,
        socket: TcpListener,
        addr: SocketAddr,
    ) -> Result<(), StartError> {
        let Parts { env, tasks, host, .. } = &self.parts;
        let Some(files) = streams::Files::open(&config.streams).map_err(StreamsError::File)? else { return Ok(()) };
        let security = files.security(host.journal()).await?;
        // Before an invocation is accepted here, so that nobody takes this node for dead.
        host.run_invocations();
        let (incoming, options) = (tcp_incoming(socket), config.streams.options());
        let front = StreamFrontend::start(incoming, host.clone(), security, env.clone(), tasks, options);
        streams::sweep(host.journal().clone(), config.streams.retention.get(), env.clone(), tasks);
        self.fronts.streams = Some(front);
        self.streams_addr = Some(addr);
        tracing::info!(%addr, "stream sessions on {addr}");
        Ok(())
    }

    fn serve_metrics(&mut self, socket: TcpListener, addr: SocketAddr) {
        let Parts { tasks, host, journal, coordination, .. } = &self.parts;
        let metrics = Metrics::of(host.clone(), journal, coordination, self.draining.clone());
        telemetry::start_listener(socket, metrics, self.draining.clone(), tasks);
        self.metrics_addr = Some(addr);
        tracing::info!(%addr, "metrics on {addr}");
    }

    /// The address it listens on, if it does.
    #[must_use]
    pub fn addr(&self) -> Option<SocketAddr> {
        self.addr
    }

    /// The address on which it listens to operators, if it does.
    #[must_use]
    pub fn registry_addr(&self) -> Option<SocketAddr> {
        self.registry_addr
    }

    /// The address where agents are invoked over WebSockets, if they are.
    #[must_use]
    pub fn streams_addr(&self) -> Option<SocketAddr> {
        self.streams_addr
    }

    /// The host inside, for callers that need no connection.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.parts.host
    }

    /// Drains and stops the node: refuses new calls, lets those under way go on for the drain timeout, interrupts what
    /// is left, so that it can be resumed, and closes everything. Returns within [`STOP_BOUND`] after that timeout.
    pub async fn stop(self) {
        let Self { parts, fronts, drain_timeout, ready, draining, .. } = self;
        drop(ready);
        draining.cancel();
        fronts.refuse_new_calls().await;
        tracing::info!(calls = fronts.live_calls(), "draining");
        if !fronts.idle_within(drain_timeout).await {
            tracing::warn!(calls = fronts.live_calls(), "drain timeout passed, interrupting calls");
        }
        parts.tasks.cancelled(TaskKind::Request).cancel();
        if !fronts.idle_within(INTERRUPT_BOUND).await {
            tracing::warn!(calls = fronts.live_calls(), "calls did not end, cutting them off");
        }
        fronts.close().await;
        parts.close().await;
        tracing::info!("stopped");
    }
}

impl Parts {
    async fn assemble(config: &Config, env: Env, effects: Effects) -> Result<Self, StartError> {
        let directory = config.directory().map_err(StartError::Harnesses)?;
        let local = LocalJournal::open(config, &env).await?;
        let journal = local.journal().clone();
        let tasks = Tasks::default();
        let coordination = Coordination::start(config, journal.incarnation(), &env, &tasks)?;
        let registry = Registry::open(RegistryParts {
            journal: journal.clone(),
            statics: Arc::new(directory),
            placements: Arc::new(config.placements()),
            coordinator: coordination.coordinator(),
        })
        .await?;
        registry.follow(&tasks, config.registry.refresh.get());
        let host = Host::new(HostParts {
            journal,
            coordinator: coordination.coordinator(),
            env: env.clone(),
            tasks: tasks.clone(),
            harnesses: Arc::new(registry.clone()),
            models: effects.models,
            tools: effects.tools,
            powers: config.powers(),
            default_project: config.project.clone(),
            turn_limits: config.turn_limits(),
            history_cache: config.limits.history_cache.get(),
            history_memory: config.limits.history_memory.get(),
        });
        host.finish_deletions();
        Ok(Self { env, tasks, journal: local, host, registry, coordination })
    }

    async fn close(self) {
        let left = self.tasks.shutdown(Duration::ZERO, TASKS_BOUND).await;
        if left > 0 {
            tracing::warn!(left, "tasks did not end");
        }
        self.journal.close().await;
    }
}

/// Binds the listener of the operators, if there is to be one, before sessions are served at `sessions`.
async fn bind_registry(config: &Config, sessions: SocketAddr) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    let Some(addr) = config.registry.addr.get() else { return Ok(None) };
    let (socket, registry) = bind(addr.to_string()).await?;
    if registry.port() == sessions.port() {
        return Err(StartError::SharedPort { sessions, registry });
    }
    Ok(Some((socket, registry)))
}

/// Binds a listener, if there is to be one.
async fn bind_optional(addr: Option<&ListenAddr>) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    match addr {
        Some(addr) => bind(addr.to_bind()).await.map(Some),
        None => Ok(None),
    }
}

async fn bind(addr: String) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let socket = TcpListener::bind(&addr).await?;
        let addr = socket.local_addr()?;
        Ok((socket, addr))
    };
    bound.await.map_err(|source| StartError::Listen { addr, source })
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
            journal: directory.path().join("journal.db").into(),
            ready_file: Some(ready.clone()),
            ..Config::default()
        };
        let node = Node::start(&config, Env::system()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&ready).unwrap().trim(), node.addr().unwrap().to_string());
        node.stop().await;
        assert!(!ready.exists());
    }
}
