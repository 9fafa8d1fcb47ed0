//! Connections to NATS. Each is used until it breaks; then another one is made.
//!
//! The client's own reconnecting is not used: it would send, after the break, what was meant for the time before it, such
//! as a question whose asker has long gone on without an answer.

use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectErrorKind, Event};
use env::Env;
use thiserror::Error;

use super::link::LinkEnd;
use super::settings::{NatsProblem, NatsSettings};
use super::subjects::Subjects;

/// Longest time that a server may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(2);

/// Messages that wait to be read, for each subscription. What does not fit is lost.
const UNREAD: usize = 1024;

/// Commands that wait to be written. Whoever has one more waits.
const UNWRITTEN: usize = 256;

/// Shortest and longest wait between two attempts to connect.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));

/// There is no connection.
#[derive(Debug, Error)]
pub(super) enum NotConnected {
    #[error(transparent)]
    Settings(#[from] NatsProblem),
    #[error(transparent)]
    Server(#[from] ConnectError),
}

impl NotConnected {
    /// `None` if it is this node's own.
    fn kind(&self) -> Option<ConnectErrorKind> {
        match self {
            Self::Settings(_) => None,
            Self::Server(error) => Some(error.kind()),
        }
    }
}

/// Tries every server once. `hear` is called with what happens to the connection.
pub(super) async fn connect(
    settings: &NatsSettings,
    subjects: &Subjects,
    name: &str,
    hear: impl Fn(Event) + Send + Sync + 'static,
) -> Result<Client, NotConnected> {
    // Fails if there is one, which then serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = settings
        .credentials
        .authenticated()?
        .name(name)
        .custom_inbox_prefix(subjects.answers())
        .no_echo()
        .connection_timeout(HANDSHAKE)
        .subscription_capacity(UNREAD)
        .client_capacity(UNWRITTEN)
        // Three pings without an answer, and the connection counts as broken.
        .ping_interval(settings.heartbeat)
        .max_reconnects(1)
        .reconnect_delay_callback(|_| Duration::ZERO)
        .event_callback(move |event| {
            hear(event);
            std::future::ready(())
        });
    if let Some(ca) = &settings.tls.ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &settings.tls.identity {
        options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
    }
    Ok(options.connect(settings.addresses()).await?)
}

/// Whether the connection is the one that was made, and not one that the client has made in its place.
pub(super) fn is_whole(client: &Client) -> bool {
    let once = client.statistics().connects.load(std::sync::atomic::Ordering::Relaxed) == 1;
    once && client.connection_state() == async_nats::connection::State::Connected
}

/// How long to wait before the next attempt to connect. Random, so that the nodes of a cluster do not all come at once.
pub(super) struct Pauses {
    env: Env,
    next: Duration,
}

impl Pauses {
    pub(super) fn new(env: Env) -> Self {
        Self { env, next: PAUSES.0 }
    }

    /// Between half and the whole of a time that doubles with every attempt.
    pub(super) fn next(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(PAUSES.1);
        let half = whole / 2;
        let spread = u64::try_from(half.as_micros()).unwrap_or(u64::MAX).max(1);
        half + Duration::from_micros(self.env.random_u64() % spread)
    }

    /// Begins anew: a connection was good.
    pub(super) fn reset(&mut self) {
        self.next = PAUSES.0;
    }
}

/// What the log is told of connections: one line for each kind of trouble, and one when it is over.
#[derive(Default)]
pub(super) struct Troubles {
    told: Vec<Option<ConnectErrorKind>>,
}

impl Troubles {
    /// A connection has ended.
    pub(super) fn begin(&mut self, end: &LinkEnd) {
        self.told.push(Some(ConnectErrorKind::Io));
        tracing::warn!(error = %end, "connection to NATS is lost; until it is back, nodes learn of each other by polling");
    }

    /// No connection could be made.
    pub(super) fn tell(&mut self, error: &NotConnected) {
        if !self.told.contains(&error.kind()) {
            self.told.push(error.kind());
            tracing::warn!(%error, "NATS cannot be reached; until it can, nodes learn of each other by polling");
        }
    }

    /// There is a connection.
    pub(super) fn end(&mut self, client: &Client) {
        self.told.clear();
        let server = client.server_info();
        tracing::info!(server = server.server_name, version = server.version, "connected to NATS");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pauses_grow_to_a_bound_and_differ() {
        let (mut one, mut two) = (Pauses::new(Env::seeded(1)), Pauses::new(Env::seeded(2)));
        let (ones, twos): (Vec<_>, Vec<_>) = (0..20).map(|_| (one.next(), two.next())).unzip();
        assert_ne!(ones, twos);
        assert!(ones[0] < PAUSES.0 && ones.iter().all(|pause| *pause >= PAUSES.0 / 2 && *pause < PAUSES.1));
        assert!(ones[19] >= PAUSES.1 / 2);
        one.reset();
        assert!(one.next() < PAUSES.0);
    }
}
