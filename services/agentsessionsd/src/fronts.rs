//! The services of a node, each on its listener, taken down together.

use std::iter::once;
use std::time::Duration;

use frontend::{Frontend, StreamFrontend};
use futures::future::{join, join_all};

/// Sessions, HarnessRegistry if operators are listened to, and the endpoint of stream sessions if there is one.
pub(crate) struct Fronts {
    pub(crate) sessions: Frontend,
    pub(crate) registry: Option<Frontend>,
    pub(crate) streams: Option<StreamFrontend>,
}

impl Fronts {
    fn all(&self) -> impl Iterator<Item = &Frontend> {
        once(&self.sessions).chain(&self.registry)
    }

    /// Number of calls under way, and of connections of stream sessions.
    pub(crate) fn live_calls(&self) -> usize {
        let connections = self.streams.as_ref().map_or(0, StreamFrontend::live_connections);
        self.all().map(Frontend::live_calls).sum::<usize>() + connections
    }

    /// Reports NOT_SERVING, answers every new call with UNAVAILABLE, and sends the clients of stream sessions elsewhere.
    pub(crate) async fn refuse_new_calls(&self) {
        self.streams.iter().for_each(StreamFrontend::drain);
        join_all(self.all().map(Frontend::refuse_new_calls)).await;
    }

    /// Waits until no call is left; whether that happened within `bound`.
    pub(crate) async fn idle_within(&self, bound: Duration) -> bool {
        let connections = async {
            match &self.streams {
                Some(streams) => streams.idle_within(bound).await,
                None => true,
            }
        };
        let calls = join_all(self.all().map(|front| front.idle_within(bound)));
        let (calls, connections) = join(calls, connections).await;
        connections && calls.into_iter().all(|idle| idle)
    }

    /// Stops listening and asks clients to disconnect.
    pub(crate) async fn close(&self) {
        self.streams.iter().for_each(StreamFrontend::close);
        join_all(self.all().map(Frontend::close)).await;
    }
}
