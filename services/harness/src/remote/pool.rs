//! The connections to one harness, shared by its turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use controller::ports::HarnessUnavailable;
use tokio::time::{Duration, Instant};
use tonic::transport::Channel;

use super::dial::{TURNS, dial};
use super::{HarnessAddress, RemoteOptions};

/// How long a connection is given to new turns, so that a harness which moves is followed to its new address.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The connections to one harness. A turn gets one that is open and has a place, or a new one.
#[derive(Debug)]
pub(super) struct Pool {
    address: HarnessAddress,
    options: RemoteOptions,
    connections: Mutex<Vec<Arc<Connection>>>,
}

/// One connection. Whoever holds it has a place on it.
#[derive(Debug)]
struct Connection {
    channel: Channel,
    opened: Instant,
}

/// A place on a connection, given back when it is dropped. If the harness has not answered on it by then, nobody else
/// gets the connection.
#[derive(Debug)]
pub(super) struct Place {
    pool: Arc<Pool>,
    connection: Arc<Connection>,
    /// Whether the connection served others before, and may have died since.
    reused: bool,
    answered: bool,
}

impl Pool {
    pub(super) fn new(address: HarnessAddress, options: RemoteOptions) -> Self {
        Self { address, options, connections: Mutex::default() }
    }

    /// A place on a connection, which is opened if no open one has any.
    pub(super) async fn place(self: &Arc<Self>) -> Result<Place, HarnessUnavailable> {
        match self.take() {
            Some(connection) => Ok(Place::on(self, connection, true)),
            None => self.open().await,
        }
    }

    async fn open(self: &Arc<Self>) -> Result<Place, HarnessUnavailable> {
        let channel = dial(&self.address, &self.options).await?;
        Ok(Place::on(self, Arc::new(Connection { channel, opened: Instant::now() }), false))
    }

    /// The first connections are filled first, so that the last ones fall idle. One idle connection is kept.
    fn take(&self) -> Option<Arc<Connection>> {
        let mut connections = self.lock();
        connections.retain(|connection| connection.opened.elapsed() < MAX_AGE);
        let taken = connections.iter().find(|connection| connection.turns() < TURNS).cloned();
        let mut idle = 0;
        connections.retain(|connection| {
            idle += usize::from(connection.turns() == 0);
            connection.turns() > 0 || idle == 1
        });
        taken
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// How many places are taken. Exact only while the pool, which holds the connection too, is locked.
    fn turns(self: &Arc<Self>) -> usize {
        Arc::strong_count(self).saturating_sub(1)
    }
}

impl Place {
    fn on(pool: &Arc<Pool>, connection: Arc<Connection>, reused: bool) -> Self {
        Self { pool: Arc::clone(pool), connection, reused, answered: false }
    }

    /// A place on a new connection, if this one may have died unnoticed.
    pub(super) async fn anew(&self) -> Result<Option<Self>, HarnessUnavailable> {
        if self.reused { self.pool.open().await.map(Some) } else { Ok(None) }
    }

    /// The harness has answered on this connection: others may share it.
    pub(super) fn answered(&mut self) {
        self.answered = true;
        if !self.reused {
            self.pool.lock().push(Arc::clone(&self.connection));
        }
    }

    pub(super) fn channel(&self) -> Channel {
        self.connection.channel.clone()
    }

    pub(super) fn options(&self) -> &RemoteOptions {
        &self.pool.options
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.answered {
            self.pool.lock().retain(|connection| !Arc::ptr_eq(connection, &self.connection));
        }
    }
}
