//! Accepts connections and serves HTTP/2 on each, in tasks that a drain can end.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use env::{TaskKind, Tasks};
use futures::{Stream, StreamExt};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Options;
use crate::accept::{Acceptor, Held};
use crate::prefaced::Prefaced;

/// Longest wait for a client to say that it speaks HTTP/2. Pings find out about it only after that, and until then it
/// holds a place that another client may want.
const PREFACE_BOUND: Duration = Duration::from_secs(10);

/// Streams of a connection beyond [`Options::max_calls`], so that a client that uses all of those still gets its
/// refusals, and its health checks answered.
const SPARE_STREAMS: u32 = 64;

/// Serves the connections of one source until it is closed.
pub(crate) struct Listener {
    connections: TaskTracker,
    go_away: CancellationToken,
}

impl Listener {
    /// Starts serving `router` on every connection of `incoming`.
    pub(crate) fn start<I, C>(incoming: I, router: Router, tasks: &Tasks, options: &Options) -> Self
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let listener = Self { connections: TaskTracker::new(), go_away: CancellationToken::new() };
        let acceptor = Acceptor {
            places: Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS))),
            connections: listener.connections.clone(),
            go_away: listener.go_away.clone(),
            tasks: tasks.clone(),
        };
        let server = Server {
            http2: http2_settings(tasks, options),
            service: TowerToHyperService::new(router),
            go_away: listener.go_away.clone(),
            tasks: tasks.clone(),
        };
        let accepting = acceptor.run(incoming, move |stream, held| server.serve(stream, held));
        tasks.spawn("acceptor", TaskKind::Background, accepting);
        listener
    }

    /// Stops accepting, tells every client to go away and waits until all have, at most for `bound`. What is left is
    /// cut when the background tasks are cancelled.
    pub(crate) async fn close(&self, bound: Duration) {
        self.go_away.cancel();
        self.connections.close();
        let _ = tokio::time::timeout(bound, self.connections.wait()).await;
    }
}

/// The connections of a socket.
pub fn tcp_incoming(socket: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> {
    TcpListenerStream::new(socket).map(|accepted| {
        let stream = accepted?;
        // Records are small and a client waits for each: Nagle's algorithm would add its delay to every one.
        stream.set_nodelay(true)?;
        Ok(stream)
    })
}

struct Server {
    http2: http2::Builder<StreamTasks>,
    service: TowerToHyperService<Router>,
    go_away: CancellationToken,
    tasks: Tasks,
}

impl Server {
    fn serve<C>(&self, stream: C, held: Held)
    where
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(Prefaced::new(stream, PREFACE_BOUND));
        let connection = self.http2.serve_connection(stream, self.service.clone());
        let go_away = self.go_away.clone();
        let cut = self.tasks.cancelled(TaskKind::Background);
        self.tasks.spawn("connection", TaskKind::Background, async move {
            let _held = held;
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = cut.cancelled() => Ok(()),
                () = go_away.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    tokio::select! {
                        ended = connection => ended,
                        () = cut.cancelled() => Ok(()),
                    }
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection failed");
            }
        });
    }
}

fn http2_settings(tasks: &Tasks, options: &Options) -> http2::Builder<StreamTasks> {
    let streams = u32::try_from(options.max_calls).unwrap_or(u32::MAX).saturating_add(SPARE_STREAMS);
    let mut builder = http2::Builder::new(StreamTasks(tasks.clone()));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .keep_alive_interval(options.keepalive_interval)
        .keep_alive_timeout(options.keepalive_timeout);
    builder
}

/// Runs each HTTP/2 stream in a task of the registry. A stream ends with its connection.
#[derive(Clone)]
struct StreamTasks(Tasks);

impl<F> Executor<F> for StreamTasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.0.spawn("stream", TaskKind::Background, stream);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{Instant, timeout};

    use super::*;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    /// A SETTINGS frame that changes nothing.
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

    /// A listener with a place for one connection, and two clients who want it. The first has said `begun`.
    async fn contended(begun: &[u8]) -> (Listener, DuplexStream, DuplexStream) {
        let options = Options {
            max_message_size: 1 << 20,
            max_calls: 8,
            max_connections: 1,
            keepalive_interval: Duration::from_secs(3_600),
            keepalive_timeout: Duration::from_secs(20),
        };
        let ((mut first, accepted_first), (second, accepted_second)) = (duplex(4_096), duplex(4_096));
        let incoming =
            futures::stream::iter([Ok(accepted_first), Ok(accepted_second)]).chain(futures::stream::pending());
        first.write_all(begun).await.unwrap();
        (Listener::start(incoming, Router::new(), &Tasks::default(), &options), first, second)
    }

    /// Begins to speak HTTP/2, and waits for the listener to do so.
    async fn greet(client: &mut DuplexStream) {
        client.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
        client.read_exact(&mut [0; 9]).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_does_not_begin_in_time_gives_its_place_to_another() {
        for begun in [&b""[..], &PREFACE[..23]] {
            let (_listener, mut silent, mut other) = contended(begun).await;
            let before = Instant::now();
            greet(&mut other).await;
            let waited = before.elapsed();
            assert!(waited >= PREFACE_BOUND && waited < PREFACE_BOUND * 2, "{waited:?}");
            silent.read_to_end(&mut Vec::new()).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_has_begun_may_be_silent() {
        let (_listener, mut first, mut other) = contended(b"").await;
        greet(&mut first).await;
        timeout(PREFACE_BOUND * 3, greet(&mut other)).await.expect_err("its place is taken");
    }
}
