//! The stand-alone process `harnessnode`: one of the built-in harnesses behind a socket, with gRPC health and an HTTP
//! readiness probe.

mod args;
mod listen;
mod path_lock;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sdk::{Harness, HarnessService, Listener};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use wire::harness_server::HarnessServer;

pub use args::{Args, Kind};
pub use listen::{InvalidListenAddress, ListenAddress};
pub use path_lock::{PathLock, SocketError};

use crate::{Chat, Counter, Echo, example_agents};

/// Longest wait for running turns after the process was asked to stop.
const DRAIN_BOUND: Duration = Duration::from_secs(10);

/// Both sockets bound, nothing served yet.
pub struct Node {
    harness: Arc<dyn Harness>,
    listener: Listener,
    readyz: TcpListener,
    max_message_bytes: usize,
    // Held while serving, gives the path back at the end.
    _path: Option<PathLock>,
}

/// Why the process cannot serve.
#[derive(Debug, Error)]
pub enum NodeError {
    /// Chat has no default model.
    #[error("kind chat needs a model: set HARNESS_MODEL")]
    NoModel,
    /// Counter cannot go on from its file.
    #[error("the count cannot be read")]
    State(#[source] io::Error),
    /// A TCP address cannot be bound.
    #[error("cannot listen on {address}")]
    Bind {
        /// As configured.
        address: ListenAddress,
        /// The reason.
        source: io::Error,
    },
    /// The readiness probe is HTTP over TCP.
    #[error("the readiness probe needs a TCP address, not {0}")]
    ReadyzNotTcp(ListenAddress),
    /// The path of the Unix socket cannot be taken.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The harness's socket failed.
    #[error("serving the harness failed")]
    Serve(#[from] tonic::transport::Error),
    /// The probe's socket failed.
    #[error("serving the readiness probe failed")]
    Readyz(#[source] io::Error),
}

impl Node {
    /// Binds both sockets.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn bind(args: Args) -> Result<Self, NodeError> {
        let harness = harness(args.kind, args.model, args.state)?;
        let (listener, path) = match &args.addr {
            ListenAddress::Tcp(_) => (bind_tcp(&args.addr).await?.into(), None),
            ListenAddress::Unix(path) => {
                let (listener, path) = PathLock::bind(path)?;
                (listener.into(), Some(path))
            }
        };
        let readyz = bind_tcp(&args.readyz).await?;
        Ok(Self { harness, listener, readyz, max_message_bytes: args.max_message_bytes, _path: path })
    }

    /// Where the harness is served, if that is TCP.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        }
    }

    /// Where the readiness probe is served.
    ///
    /// # Errors
    /// The operating system does not know.
    pub fn readyz(&self) -> io::Result<SocketAddr> {
        self.readyz.local_addr()
    }

    /// Serves until `stop` is done, then lets running turns end for a bounded time.
    ///
    /// # Errors
    /// A socket failed.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), NodeError> {
        let stopping = CancellationToken::new();
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<HarnessServer<HarnessService>>().await;
        let router = sdk::router(self.harness, self.max_message_bytes).add_service(health_service);
        let harness = self.listener.serve(router, stopping.clone().cancelled_owned());
        let readyz = serve_readyz(self.readyz, stopping.clone());
        let mut serving = pin!(async { tokio::try_join!(async { Ok(harness.await?) }, readyz).map(drop) });
        tokio::select! {
            ended = &mut serving => return ended,
            () = stop => {}
        }
        health.set_not_serving::<HarnessServer<HarnessService>>().await;
        stopping.cancel();
        tokio::time::timeout(DRAIN_BOUND, serving).await.unwrap_or_else(|_| {
            tracing::warn!("turns were still running after {DRAIN_BOUND:?}");
            Ok(())
        })
    }
}

fn harness(kind: Kind, model: Option<String>, state: Option<PathBuf>) -> Result<Arc<dyn Harness>, NodeError> {
    Ok(match kind {
        Kind::Agents => Arc::new(example_agents()),
        Kind::Echo => Arc::new(Echo),
        Kind::Counter => match state {
            Some(file) => Arc::new(Counter::kept_in(file).map_err(NodeError::State)?),
            None => Arc::new(Counter::default()),
        },
        Kind::Chat => Arc::new(Chat::new(model.filter(|model| !model.is_empty()).ok_or(NodeError::NoModel)?)),
    })
}

async fn bind_tcp(address: &ListenAddress) -> Result<TcpListener, NodeError> {
    let ListenAddress::Tcp(endpoint) = address else {
        return Err(NodeError::ReadyzNotTcp(address.clone()));
    };
    endpoint.bind().await.map_err(|source| NodeError::Bind { address: address.clone(), source })
}

async fn serve_readyz(listener: TcpListener, stopping: CancellationToken) -> Result<(), NodeError> {
    let ready = axum::Router::new().fallback(async || "ok");
    axum::serve(listener, ready).with_graceful_shutdown(stopping.cancelled_owned()).await.map_err(NodeError::Readyz)
}
