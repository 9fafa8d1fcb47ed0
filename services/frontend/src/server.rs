//! The front of a node: starts a listener and takes it down in an orderly way.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::extract::Request;
use axum::response::IntoResponse;
use controller::{Host, Registry};
use env::{Env, TaskKind, Tasks};
use futures::Stream;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::Service;
use wire::{harness_registry_server, sessions_server};

use crate::layers::admission::Admission;
use crate::listener::Listener;
use crate::sessions::{Ends, SessionsService};
use crate::{Options, registry, stack};

/// How long clients may take to close their connections once told to go away.
const GO_AWAY_BOUND: Duration = Duration::from_millis(500);

/// The services could not be started: the descriptors of this build are broken.
#[derive(Debug, Error)]
#[error("reflection service cannot be built: {0}")]
pub struct StartError(#[from] tonic_reflection::server::Error);

/// A service of a node on a running listener.
pub struct Frontend {
    listener: Listener,
    admission: Admission,
    health: Health,
    /// Fires when calls that would never end by themselves are to end.
    draining: CancellationToken,
}

impl Frontend {
    /// Serves `host` on the connections of `incoming`. Calls are interrupted when the request tasks of `tasks` are
    /// cancelled.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start<I, C>(
        incoming: I,
        host: Host,
        env: Env,
        tasks: &Tasks,
        options: &Options,
    ) -> Result<Self, StartError>
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let draining = CancellationToken::new();
        let ends = Ends { draining: draining.clone(), interrupted: tasks.cancelled(TaskKind::Request) };
        let service = SessionsService::new(host, ends).server(options.max_message_size);
        let front = Self::serve(incoming, sessions_server::SERVICE_NAME, service, env, tasks, options).await?;
        Ok(Self { draining, ..front })
    }

    /// Serves `registry`, and nothing else, on the connections of `incoming`: the listener of the operators.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_registry<I, C>(
        incoming: I,
        registry: Registry,
        env: Env,
        tasks: &Tasks,
        options: &Options,
    ) -> Result<Self, StartError>
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = registry::service(registry, options.max_message_size);
        Self::serve(incoming, harness_registry_server::SERVICE_NAME, service, env, tasks, options).await
    }

    async fn serve<I, C, S>(
        incoming: I,
        name: &'static str,
        service: S,
        env: Env,
        tasks: &Tasks,
        options: &Options,
    ) -> Result<Self, StartError>
    where
        I: Stream<Item = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send + 'static,
    {
        let admission = Admission::new(options.max_calls);
        let (reporter, health_service) = tonic_health::server::health_reporter();
        let health = Health { reporter, service: name };
        health.set(ServingStatus::Serving).await;
        let router = stack::router(name, service, health_service, admission.clone(), env)?;
        let listener = Listener::start(incoming, router, tasks, options);
        Ok(Self { listener, admission, health, draining: CancellationToken::new() })
    }

    /// Number of calls of the service under way.
    #[must_use]
    pub fn live_calls(&self) -> usize {
        self.admission.live()
    }

    /// Reports NOT_SERVING, answers every new call of the service with UNAVAILABLE, and ends those that would never end by
    /// themselves.
    pub async fn refuse_new_calls(&self) {
        self.admission.close();
        self.draining.cancel();
        self.health.set(ServingStatus::NotServing).await;
    }

    /// Waits until no call is left; whether that happened within `bound`.
    pub async fn idle_within(&self, bound: Duration) -> bool {
        tokio::time::timeout(bound, self.admission.idle()).await.is_ok()
    }

    /// Stops listening and asks clients to disconnect.
    pub async fn close(&self) {
        self.listener.close(GO_AWAY_BOUND).await;
    }
}

/// What the health service says about the listener's service.
struct Health {
    reporter: HealthReporter,
    service: &'static str,
}

impl Health {
    async fn set(&self, status: ServingStatus) {
        // The empty name stands for the listener as a whole.
        for service in ["", self.service] {
            self.reporter.set_service_status(service, status).await;
        }
    }
}
