//! The listener for those who watch the node: metrics, and probes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use env::{TaskKind, Tasks};
use futures::StreamExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::metrics::{self, Metrics};

/// Most connections at once; more wait to be accepted.
const CONNECTIONS: usize = 32;
/// Longest time that a connection may be without a complete request.
const REQUEST_BOUND: Duration = Duration::from_secs(60);
/// Pause after a failed accept, so that the loop does not spin until a file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is told about a node.
#[derive(Clone)]
struct Watched {
    metrics: Arc<Metrics>,
    draining: CancellationToken,
}

/// Tells whoever connects to `socket` how the node is, until background tasks are stopped: also while it drains.
pub(crate) fn start(socket: TcpListener, metrics: Metrics, draining: CancellationToken, tasks: &Tasks) {
    let watched = Watched { metrics: Arc::new(metrics), draining };
    let router = Router::new()
        .route("/metrics", get(scrape))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .with_state(watched);
    let stop = tasks.cancelled(TaskKind::Background);
    let connections = tasks.clone();
    tasks.spawn("metrics", TaskKind::Background, async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = accept(socket, TowerToHyperService::new(router), connections) => {}
        }
    });
}

async fn scrape(State(watched): State<Watched>) -> Response {
    match watched.metrics.render() {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The process runs: it answers.
async fn healthy() -> &'static str {
    "healthy\n"
}

/// Whether to send calls here. A journal that cannot be reached does not count: the other nodes have the same one.
async fn ready(State(watched): State<Watched>) -> (StatusCode, &'static str) {
    if watched.draining.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}

async fn accept(socket: TcpListener, service: TowerToHyperService<Router>, tasks: Tasks) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut incoming = std::pin::pin!(frontend::tcp_incoming(socket));
    // Fails only if the semaphore is closed, which nobody does.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match incoming.next().await {
            None => return,
            Some(Ok(stream)) => serve(stream, service.clone(), place, &tasks),
            Some(Err(error)) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn serve(stream: TcpStream, service: TowerToHyperService<Router>, place: OwnedSemaphorePermit, tasks: &Tasks) {
    let stop = tasks.cancelled(TaskKind::Background);
    tasks.spawn("metrics connection", TaskKind::Background, async move {
        let _held = place;
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_BOUND)
            .serve_connection(TokioIo::new(stream), service);
        let ended = tokio::select! {
            () = stop.cancelled() => Ok(()),
            ended = connection => ended,
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection failed");
        }
    });
}
