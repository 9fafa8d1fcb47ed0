//! The services of a node, each on its listener, taken down together.

use std::iter::once;
use std::time::Duration;

use frontend::Frontend;
use futures::future::join_all;

/// Sessions, and HarnessRegistry if operators are listened to.
pub(crate) struct Fronts {
    pub(crate) sessions: Frontend,
    pub(crate) registry: Option<Frontend>,
}

impl Fronts {
    fn all(&self) -> impl Iterator<Item = &Frontend> {
        once(&self.sessions).chain(&self.registry)
    }

    /// Number of calls under way.
    pub(crate) fn live_calls(&self) -> usize {
        self.all().map(Frontend::live_calls).sum()
    }

    /// Reports NOT_SERVING and answers every new call with UNAVAILABLE.
    pub(crate) async fn refuse_new_calls(&self) {
        join_all(self.all().map(Frontend::refuse_new_calls)).await;
    }

    /// Waits until no call is left; whether that happened within `bound`.
    pub(crate) async fn idle_within(&self, bound: Duration) -> bool {
        join_all(self.all().map(|front| front.idle_within(bound))).await.into_iter().all(|idle| idle)
    }

    /// Stops listening and asks clients to disconnect.
    pub(crate) async fn close(&self) {
        join_all(self.all().map(Frontend::close)).await;
    }
}
