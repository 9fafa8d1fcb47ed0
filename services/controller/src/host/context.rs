//! What bounds a call: its deadline, its caller and the life of the node.

use std::time::Duration;

use env::Env;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::HostError;
use super::live::StopOrder;
use crate::turn::Interruption;

/// The call that an operation serves.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Log correlation id, passed on to the harness.
    pub request_id: String,
    /// When the caller stops waiting, if it said so.
    pub deadline: Option<Instant>,
    /// Fires when the caller went away.
    pub cancelled: CancellationToken,
}

/// Everything that may end a call early.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    deadline: Option<Instant>,
    cancelled: CancellationToken,
    draining: CancellationToken,
    stop: StopOrder,
}

impl Bounds {
    pub(super) fn new(call: &CallContext, draining: CancellationToken) -> Self {
        Self { deadline: call.deadline, cancelled: call.cancelled.clone(), draining, stop: StopOrder::default() }
    }

    /// Adds a deadline given as Unix seconds; zero and negative values mean none (execution.md §3).
    pub(super) fn deadline_unix(mut self, seconds: i64, env: &Env) -> Self {
        if let Ok(seconds @ 1..) = u64::try_from(seconds) {
            let left = Duration::from_secs(seconds).saturating_sub(env.unix_time());
            // A deadline beyond what the clock can express is none.
            let deadline = Instant::now().checked_add(left);
            self.deadline = match (self.deadline, deadline) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        self
    }

    /// The same bounds for a turn that may be ordered to stop.
    pub(super) fn stopped_by(&self, stop: StopOrder) -> Self {
        Self { stop, ..self.clone() }
    }

    /// The order that stops the turn.
    pub(super) fn stop_order(&self) -> &StopOrder {
        &self.stop
    }

    /// Resolves when the node shuts down.
    pub(super) async fn draining(&self) {
        self.draining.cancelled().await;
    }

    /// Resolves when the call must end, with the reason.
    pub(super) async fn interrupted(&self) -> Interruption {
        let deadline = async {
            match self.deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stop.dispossessed() => Interruption::Dispossessed,
            () = self.stop.given() => Interruption::Canceled,
            () = self.cancelled.cancelled() => Interruption::ClientGone,
            () = self.draining.cancelled() => Interruption::Shutdown,
            () = deadline => Interruption::Deadline,
        }
    }

    /// Does `work`, unless the call must end first.
    pub(super) async fn or_interrupted<T>(&self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        tokio::select! {
            biased;
            interruption = self.interrupted() => Err(interruption),
            done = work => Ok(done),
        }
    }

    /// What `work` comes to, if it does so before the call must end. Work that waits for nothing is done in any case.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = Result<T, HostError>>) -> Result<T, HostError> {
        tokio::select! {
            biased;
            done = work => done,
            interruption = self.interrupted() => Err(interruption.into()),
        }
    }

    /// Refuses to begin what would be interrupted at once.
    pub(super) fn check(&self) -> Result<(), HostError> {
        if self.cancelled.is_cancelled() {
            Err(HostError::Cancelled)
        } else if self.draining.is_cancelled() {
            Err(HostError::Draining)
        } else if self.deadline.is_some_and(|at| at <= Instant::now()) {
            Err(HostError::DeadlineExceeded)
        } else {
            Ok(())
        }
    }
}

impl From<Interruption> for HostError {
    /// An interruption before the turn began; later ones fail the turn instead.
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Deadline => Self::DeadlineExceeded,
            Interruption::ClientGone => Self::Cancelled,
            Interruption::Shutdown => Self::Draining,
            Interruption::Canceled => Self::TurnCanceled,
            Interruption::Dispossessed => Self::Fenced,
        }
    }
}
