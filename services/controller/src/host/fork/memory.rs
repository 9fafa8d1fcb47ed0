//! Fork of a session whose harness lives in memory: through one snapshot of the parent, cloned for each child
//! (execution.md §11).

use std::sync::Arc;

use futures::future::join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use journal::{NewChild, Seq, SessionState, SessionUid};
use wire::SnapshotRef;

use crate::host::compute::{snapshot, stop, suspend_event};
use crate::host::context::Bounds;
use crate::host::{Host, HostError, InvalidFork};
use crate::ports::{Runtime, SessionPoint};

/// Clones made at once.
const CONCURRENT_CLONES: usize = 8;

/// A fork that has been admitted.
pub(super) struct MemoryFork {
    pub(super) parent: SessionState,
    pub(super) at: Seq,
    pub(super) children: Vec<NewChild>,
    pub(super) runtime: Arc<dyn Runtime>,
}

impl Host {
    /// Suspends the parent at its head and makes its children, all or none. The parent stays cold if the rest fails.
    pub(super) async fn fork_memory(&self, fork: MemoryFork, bounds: &Bounds) -> Result<Vec<SessionState>, HostError> {
        let MemoryFork { parent, at, children, runtime } = fork;
        if at != parent.last_seq() {
            return Err(InvalidFork::NotHead { at, head: parent.last_seq() }.into());
        }
        // Suspending the parent would cut off the turn that another caller runs on it.
        let guard = self.take(&parent).await?;
        let point = self.standing(&parent).await?.point;
        let snapshot = self.suspend_at(&point, at, &*runtime).await?;
        drop(guard);
        if snapshot.external_uri.is_empty() {
            return Err(InvalidFork::NoExternalHandle.into());
        }
        let fresh = |_: &NewChild| SessionPoint { session: SessionUid::mint(&self.parts.env), ..point.clone() };
        let clones: Vec<SessionPoint> = children.iter().map(fresh).collect();
        let children = children.into_iter().zip(&clones);
        let children = children.map(|(child, of)| NewChild { uid: Some(of.session.clone()), ..child }).collect();

        let outcome = match bounds.or_interrupted(clone_for(&*runtime, &snapshot, &clones)).await {
            Ok(Ok(())) => self.fork_log(parent.uid(), at, children).await,
            Ok(Err(error)) => Err(error),
            Err(interruption) => Err(interruption.into()),
        };
        // Children whose fate is not known may be there, and would miss their compute.
        if outcome.as_ref().is_err_and(|error| !matches!(error, HostError::OutcomeUnknown)) {
            join_all(clones.iter().map(|of| stop(&*runtime, &of.session))).await;
        }
        outcome
    }

    /// Shuts out whoever runs the parent, snapshots it and appends SUSPEND after `at`.
    async fn suspend_at(&self, of: &SessionPoint, at: Seq, runtime: &dyn Runtime) -> Result<SnapshotRef, HostError> {
        let mut writer = self.journal().mint(&of.session).await?;
        if writer.head() != at {
            return Err(HostError::Conflict);
        }
        let snapshot = snapshot(runtime, of).await?;
        self.journal().append(&mut writer, vec![suspend_event(&snapshot)]).await?;
        stop(runtime, &of.session).await;
        Ok(snapshot)
    }
}

/// Clones a snapshot for every child.
async fn clone_for(runtime: &dyn Runtime, snapshot: &SnapshotRef, children: &[SessionPoint]) -> Result<(), HostError> {
    let clones: Vec<_> = children.iter().map(|child| runtime.fork(snapshot, child)).collect();
    Ok(stream::iter(clones).buffer_unordered(CONCURRENT_CLONES).try_collect().await?)
}

#[cfg(test)]
mod tests;
