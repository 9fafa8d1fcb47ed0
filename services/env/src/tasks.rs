//! The registry of running tasks: every task has a name, a kind and an owner that cancels it.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span};

/// When a task is stopped during shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Serves a caller; asked to stop when the drain begins, waited for first.
    Request,
    /// Runs for the life of the node (listeners, sweeps); stopped after the requests have ended.
    Background,
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Background => "background",
        })
    }
}

/// Spawns tasks and stops them in order. Cheap to clone; clones share the registry.
#[derive(Clone, Default)]
pub struct Tasks {
    requests: Group,
    background: Group,
}

#[derive(Clone, Default)]
struct Group {
    tracker: TaskTracker,
    cancel: CancellationToken,
}

impl Tasks {
    /// Runs `task` to its end; one that serves a caller, in the span that it is spawned in. A task must watch
    /// [`Tasks::cancelled`] of its kind and return soon after it fires.
    pub fn spawn<F>(&self, name: &'static str, kind: TaskKind, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let span = tracing::debug_span!("task", name, kind = %kind);
        // Around the task's own span, which is none where its level is not wanted. What outlives a call is no part of it.
        let around = if kind == TaskKind::Request { Span::current() } else { Span::none() };
        #[allow(clippy::disallowed_methods, reason = "this is the task registry")]
        self.group(kind).tracker.spawn(task.instrument(span).instrument(around));
    }

    /// Fires when tasks of this kind must stop.
    #[must_use]
    pub fn cancelled(&self, kind: TaskKind) -> CancellationToken {
        self.group(kind).cancel.clone()
    }

    /// Number of tasks of this kind that have not ended.
    #[must_use]
    pub fn running(&self, kind: TaskKind) -> usize {
        self.group(kind).tracker.len()
    }

    /// Lets requests end by themselves for `grace`, then cancels them, then stops the background tasks; each of the
    /// last two steps is given `bound`. Returns how many tasks had still not ended.
    pub async fn shutdown(&self, grace: Duration, bound: Duration) -> usize {
        self.requests.tracker.close();
        if tokio::time::timeout(grace, self.requests.tracker.wait()).await.is_err() {
            self.requests.stop(bound).await;
        }
        self.background.stop(bound).await;
        self.running(TaskKind::Request) + self.running(TaskKind::Background)
    }

    fn group(&self, kind: TaskKind) -> &Group {
        match kind {
            TaskKind::Request => &self.requests,
            TaskKind::Background => &self.background,
        }
    }
}

impl Group {
    async fn stop(&self, bound: Duration) {
        self.cancel.cancel();
        self.tracker.close();
        // What outlives the bound is counted by the caller; the process exits all the same.
        let _ = tokio::time::timeout(bound, self.tracker.wait()).await;
    }
}
