//! The front of a node: starts the listener and takes it down in an orderly way.

use std::io;
use std::time::Duration;

use controller::Host;
use env::{Env, TaskKind, Tasks};
use futures::Stream;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use wire::sessions_server::SessionsServer;

use crate::Options;
use crate::layers::admission::Admission;
use crate::listener::Listener;
use crate::sessions::SessionsService;
use crate::stack;

/// How long clients may take to close their connections once told to go away.
const GO_AWAY_BOUND: Duration = Duration::from_millis(500);

/// The services could not be started: the descriptors of this build are broken.
#[derive(Debug, Error)]
#[error("reflection service cannot be built: {0}")]
pub struct StartError(#[from] tonic_reflection::server::Error);

/// The services of a node on a running listener.
pub struct Frontend {
    listener: Listener,
    admission: Admission,
    health: HealthReporter,
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
        let admission = Admission::new(options.max_calls);
        let (health, health_service) = tonic_health::server::health_reporter();
        set_health(&health, ServingStatus::Serving).await;
        let sessions = SessionsService::new(host, tasks.cancelled(TaskKind::Request));
        let router = stack::router(sessions, health_service, admission.clone(), env, options)?;
        let listener = Listener::start(incoming, router, tasks, options);
        Ok(Self { listener, admission, health })
    }

    /// Number of Sessions calls under way.
    #[must_use]
    pub fn live_calls(&self) -> usize {
        self.admission.live()
    }

    /// Reports NOT_SERVING and answers every new Sessions call with UNAVAILABLE.
    pub async fn refuse_new_calls(&self) {
        self.admission.close();
        set_health(&self.health, ServingStatus::NotServing).await;
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

async fn set_health(health: &HealthReporter, status: ServingStatus) {
    // The empty name stands for the node as a whole.
    for service in ["", SessionsServer::<SessionsService>::NAME] {
        health.set_service_status(service, status).await;
    }
}
