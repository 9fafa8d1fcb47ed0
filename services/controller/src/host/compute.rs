//! Compute of sessions: acquired for turns, put away between them (execution.md §2.3, §10).

use std::time::Duration;

use journal::{SessionState, SessionUid};
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{ComputeState, Event, EventKind, Lifecycle, SnapshotRef};

use super::{Host, HostError};
use crate::log::Log;
use crate::ports::{AcquireError, Compute, Runtime, RuntimeFailure, SessionPoint};

/// Longest time that a snapshot may take.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time that compute may take to be given up (execution.md §11).
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// What a session's log says of its compute.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) point: SessionPoint,
    /// What its latest own SUSPEND names.
    snapshot: Option<SnapshotRef>,
}

impl Standing {
    pub(super) fn of(session: &SessionUid, log: &Log) -> Self {
        let point = SessionPoint { session: session.clone(), last_turn: log.last_ended().cloned() };
        Self { point, snapshot: log.snapshot_of(session).cloned() }
    }
}

impl Host {
    /// What the session's log says of its compute.
    pub(super) async fn standing(&self, state: &SessionState) -> Result<Standing, HostError> {
        let log = self.logs.load(state).await?;
        Ok(Standing::of(state.uid(), &log.index))
    }
}

/// The compute of a session: what is live, else what its latest own SUSPEND names, else new compute. The caller bounds the
/// wait.
pub(super) async fn acquire(runtime: &dyn Runtime, standing: &Standing) -> Result<Compute, AcquireError> {
    match &standing.snapshot {
        // A snapshot holds less than the compute that went on from it.
        Some(snapshot) if runtime.status(&standing.point).await? != ComputeState::ComputeLive => {
            runtime.restore(&standing.point, snapshot).await
        }
        _ => runtime.create(&standing.point).await,
    }
}

/// Takes a snapshot of a session's compute.
pub(super) async fn snapshot(runtime: &dyn Runtime, of: &SessionPoint) -> Result<SnapshotRef, HostError> {
    let taken = tokio::time::timeout(SNAPSHOT_TIMEOUT, runtime.snapshot(of)).await;
    let late = |_| RuntimeFailure(format!("no snapshot within {} s", SNAPSHOT_TIMEOUT.as_secs()));
    Ok(taken.map_err(late)??)
}

/// Gives a session's live compute up. What cannot be given up is a loss of space, not of anything promised.
pub(super) async fn stop(runtime: &dyn Runtime, session: &SessionUid) {
    let reason = match tokio::time::timeout(STOP_TIMEOUT, runtime.stop(session)).await {
        Ok(Ok(())) => return,
        Ok(Err(failure)) => failure.0,
        Err(_elapsed) => format!("not stopped within {} s", STOP_TIMEOUT.as_secs()),
    };
    tracing::warn!(%session, reason, "compute is left behind");
}

/// SUSPEND, which names the snapshot that the compute is in.
pub(super) fn suspend_event(snapshot: &SnapshotRef) -> Event {
    lifecycle_event(Lifecycle {
        kind: Kind::LifecycleSuspend.into(),
        snapshot_local: snapshot.local.clone(),
        snapshot_external_uri: snapshot.external_uri.clone(),
        snapshot_memory: snapshot.memory,
        snapshot_sealed: snapshot.sealed,
        ..Lifecycle::default()
    })
}

/// The marker of a resumption.
pub(super) fn resume_event() -> Event {
    lifecycle_event(Lifecycle { kind: Kind::LifecycleResume.into(), ..Lifecycle::default() })
}

fn lifecycle_event(lifecycle: Lifecycle) -> Event {
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(lifecycle))
}

#[cfg(test)]
mod tests;
