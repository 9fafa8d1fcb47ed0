//! The endpoint of stream sessions: agents are invoked over WebSockets, subprotocol `golem.agent-invocation.v1`.
//!
//! A connection is one task. Its rules are those of [`stream_session::server::Connection`]; what it accepts and what it
//! tells goes through the journal, so that any node can serve any client of any invocation.

mod admit;
mod attach;
mod descriptor;
mod evaluate;
mod handshake;
mod identity;
mod inbox;
pub(crate) mod metrics;
mod outputs;
mod session;
mod socket;
mod tokens;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use auth::{Authenticator, Caller, KeyRings, Policy};
use bytes::Bytes;
use controller::Host;
use env::{Env, TaskKind, Tasks};
use futures::Stream;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::{TokioIo, TokioTimer};
use stream_session::server::Connection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::{Acceptor, Held};
use metrics::METRICS;
use session::Session;
use socket::Socket;

/// Longest wait for a request.
const REQUEST_BOUND: Duration = Duration::from_secs(10);
/// Largest head of a request, in bytes.
const REQUEST_BYTES: usize = 64 << 10;
/// Longest wait for a client to answer a close.
const CLOSE_BOUND: Duration = Duration::from_secs(2);
/// Streams of a session have numbers from a random one on, below this: with room for all above it.
const FIRST_CHANNEL: u64 = 1 << 31;

/// How connections are served.
#[derive(Clone, Copy, Debug)]
pub struct StreamOptions {
    /// Most connections at once; more wait to be accepted.
    pub max_connections: usize,
    /// Longest wait for the first message.
    pub first_message_timeout: Duration,
    /// How long a client may be silent before it is pinged.
    pub ping_interval: Duration,
    /// How long a client may be silent before its connection is given up and its session detached.
    pub idle_timeout: Duration,
}

/// Who may invoke what, and the keys of tokens.
pub struct StreamSecurity {
    /// Tells who connects.
    pub authenticator: Authenticator,
    /// What callers may invoke.
    pub policy: Policy,
    /// The keys of tokens.
    pub rings: Arc<KeyRings>,
}

/// The endpoint on a running listener.
pub struct StreamFrontend {
    endpoint: Arc<Endpoint>,
    go_away: CancellationToken,
}

/// What all connections share.
struct Endpoint {
    host: Host,
    security: StreamSecurity,
    options: StreamOptions,
    env: Env,
    tasks: Tasks,
    draining: CancellationToken,
    /// Requests and connections, held by each until it has ended.
    connections: TaskTracker,
}

impl StreamFrontend {
    /// Invokes agents of `host` for the connections of `incoming`.
    pub fn start<I, C>(
        incoming: I,
        host: Host,
        security: StreamSecurity,
        env: Env,
        tasks: &Tasks,
        options: StreamOptions,
    ) -> Self
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connections = TaskTracker::new();
        let endpoint = Endpoint {
            host,
            security,
            options,
            env,
            tasks: tasks.clone(),
            draining: CancellationToken::new(),
            connections: connections.clone(),
        };
        let endpoint = Arc::new(endpoint);
        let go_away = CancellationToken::new();
        let acceptor = Acceptor {
            places: Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS))),
            connections,
            go_away: go_away.clone(),
            tasks: tasks.clone(),
        };
        let serving = Arc::clone(&endpoint);
        let accepting = acceptor.run(incoming, move |transport, held| serving.serve(transport, held));
        tasks.spawn("stream acceptor", TaskKind::Background, accepting);
        Self { endpoint, go_away }
    }

    /// Number of connections.
    #[must_use]
    pub fn live_connections(&self) -> usize {
        self.endpoint.connections.len()
    }

    /// Answers new requests with 503, detaches every session and closes its connection: clients go on at another node.
    pub fn drain(&self) {
        self.endpoint.draining.cancel();
        self.endpoint.connections.close();
    }

    /// Waits until no connection is left; whether that happened within `bound`.
    pub async fn idle_within(&self, bound: Duration) -> bool {
        tokio::time::timeout(bound, self.endpoint.connections.wait()).await.is_ok()
    }

    /// Stops listening.
    pub fn close(&self) {
        self.go_away.cancel();
    }
}

impl Endpoint {
    /// Serves a connection in a task of its own.
    fn serve<C>(self: &Arc<Self>, transport: C, held: Held)
    where
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let endpoint = Arc::clone(self);
        let cut = self.tasks.cancelled(TaskKind::Background);
        self.tasks.spawn("stream connection", TaskKind::Background, async move {
            let _held = held;
            let served = async {
                // Apart, so that a connection that has become a WebSocket keeps nothing of its request.
                let Some((upgraded, caller)) = Box::pin(endpoint.welcome(transport)).await else { return };
                METRICS.connections.inc();
                endpoint.converse(upgraded, &caller).await;
                METRICS.connections.dec();
            };
            tokio::select! {
                () = served => {}
                () = cut.cancelled() => {}
            }
        });
    }

    /// Answers requests until one becomes a WebSocket.
    async fn welcome<C>(self: &Arc<Self>, transport: C) -> Option<(Upgraded, Caller)>
    where
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let welcomed: Arc<Mutex<Option<(OnUpgrade, Caller)>>> = Arc::default();
        let service = service_fn(|request| self.answer(request, Arc::clone(&welcomed)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_BOUND)
            .max_buf_size(REQUEST_BYTES)
            .serve_connection(TokioIo::new(transport), service)
            .with_upgrades();
        if let Err(error) = connection.await {
            tracing::debug!(%error, "request failed");
        }
        let (upgrade, caller) = welcomed.lock().await.take()?;
        Some((upgrade.await.ok()?, caller))
    }

    async fn answer(
        &self,
        mut request: Request<Incoming>,
        welcomed: Arc<Mutex<Option<(OnUpgrade, Caller)>>>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let upgrade = hyper::upgrade::on(&mut request);
        let (request, _) = request.into_parts();
        let draining = self.draining.is_cancelled();
        Ok(match handshake::examine(&request, &self.security.authenticator, draining).await {
            Ok(welcome) => {
                let answer = welcome.answer();
                *welcomed.lock().await = Some((upgrade, welcome.caller));
                answer
            }
            Err(unwelcome) => {
                METRICS.refused(unwelcome.code());
                unwelcome.answer()
            }
        })
    }

    /// Serves a WebSocket to its end.
    async fn converse(self: &Arc<Self>, upgraded: Upgraded, caller: &Caller) {
        let mut socket = Socket::new(upgraded).await;
        let first_channel = 1 + self.env.random_u64() % FIRST_CHANNEL;
        let mut connection = Connection::new(u32::try_from(first_channel).unwrap_or(1));
        let admitted = Box::pin(admit::admit(self, &mut socket, &mut connection, caller)).await;
        let (socket, code) = match admitted {
            admit::Outcome::Over(None) => return,
            admit::Outcome::Over(Some(code)) => (socket, code),
            admit::Outcome::Attached(attached, actions) => {
                let session = Session::new(Arc::clone(self), socket, connection, *attached);
                match session.run(actions).await {
                    Some(left) => left,
                    None => return,
                }
            }
        };
        // Whoever does not answer in time is cut off.
        let _ = tokio::time::timeout(CLOSE_BOUND, socket.close(code)).await;
    }
}
