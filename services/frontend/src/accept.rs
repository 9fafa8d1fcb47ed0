//! Takes the connections of a source, as many at once as there are places.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use env::{TaskKind, Tasks};
use futures::{Stream, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Pause after a failed accept: out of file descriptors, say. Without it the loop would spin until one is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Takes connections until told to go away.
pub(crate) struct Acceptor {
    /// One for each connection at a time.
    pub(crate) places: Arc<Semaphore>,
    /// Counts those that have not ended.
    pub(crate) connections: TaskTracker,
    pub(crate) go_away: CancellationToken,
    pub(crate) tasks: Tasks,
}

/// What a connection holds until it has ended.
pub(crate) struct Held {
    _place: OwnedSemaphorePermit,
    _counted: TaskTrackerToken,
}

impl Acceptor {
    pub(crate) async fn run<I, C>(self, incoming: I, mut serve: impl FnMut(C, Held))
    where
        I: Stream<Item = io::Result<C>>,
    {
        let stop = self.tasks.cancelled(TaskKind::Background);
        let mut incoming = pin!(incoming);
        loop {
            let accept = async {
                // Fails only if the semaphore is closed, which nobody does.
                let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
                Some((place, incoming.next().await?))
            };
            let accepted = tokio::select! {
                () = self.go_away.cancelled() => return,
                () = stop.cancelled() => return,
                accepted = accept => accepted,
            };
            match accepted {
                None => return,
                Some((place, Ok(transport))) => {
                    serve(transport, Held { _place: place, _counted: self.connections.token() });
                }
                Some((_, Err(error))) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}
