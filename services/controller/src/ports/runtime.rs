//! Compute of sessions: where a harness runs for each of them, and what becomes of its memory between two turns.

use async_trait::async_trait;
use journal::{ExecutionId, SessionUid};
use thiserror::Error;
use wire::{ComputeState, RuntimeCapabilities, SnapshotRef};

use super::{HarnessChannel, HarnessPlacement, HarnessUnavailable};

/// Runs one harness for many sessions and keeps what the harness remembers of each. The host decides when compute is
/// acquired, put away, cloned and given up; a runtime does it, and knows nothing of journals and fences.
///
/// Its failures are opaque to callers, whatever their cause (execution.md §1). The host bounds every wait, and gives an
/// operation up by dropping its future; what had been done of it by then must not count.
#[async_trait]
pub trait Runtime: Send + Sync + 'static {
    /// What this runtime can do. A harness that needs memory snapshots runs only where `memory_snapshot` is set.
    fn capabilities(&self) -> RuntimeCapabilities;

    /// The harness without a session, to ask it what it is.
    ///
    /// # Errors
    /// [`AcquireError`].
    async fn probe(&self) -> Result<Box<dyn HarnessChannel>, AcquireError>;

    /// The compute of a session: what is live of it, or else new compute, which remembers nothing.
    ///
    /// # Errors
    /// [`AcquireError`].
    async fn create(&self, of: &SessionPoint) -> Result<Compute, AcquireError>;

    /// The compute of a session as it was when `snapshot` was taken of it.
    ///
    /// # Errors
    /// [`AcquireError`].
    async fn restore(&self, of: &SessionPoint, snapshot: &SnapshotRef) -> Result<Compute, AcquireError>;

    /// Takes a snapshot of the compute of a session; of what its last snapshot holds if nothing is live. `local` is the
    /// session's uid. Nothing is given up.
    ///
    /// # Errors
    /// [`RuntimeFailure`].
    async fn snapshot(&self, of: &SessionPoint) -> Result<SnapshotRef, RuntimeFailure>;

    /// Clones `snapshot`, which has an external handle, into live compute of a new session.
    ///
    /// # Errors
    /// [`RuntimeFailure`].
    async fn fork(&self, snapshot: &SnapshotRef, child: &SessionPoint) -> Result<(), RuntimeFailure>;

    /// Gives up what is live of the compute of `session`. Its snapshots stay. That nothing is live is no error.
    ///
    /// # Errors
    /// [`RuntimeFailure`].
    async fn stop(&self, session: &SessionUid) -> Result<(), RuntimeFailure>;

    /// Where the compute of a session is: live, cold (in a snapshot), or nowhere.
    ///
    /// # Errors
    /// [`RuntimeFailure`].
    async fn status(&self, of: &SessionPoint) -> Result<ComputeState, RuntimeFailure>;
}

/// A session as its log stands. A turn may end in compute and not in the log, if its node dies between the two or is fenced
/// out, and the other way round on another node. Compute that is not as of the turn named here is not live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPoint {
    /// The session.
    pub session: SessionUid,
    /// The last of its turns that has ended, by itself or inherited.
    pub last_turn: Option<ExecutionId>,
}

/// Compute acquired for one turn. Dropping it, or the connection made of it, ends the turn's use of it.
pub struct Compute {
    /// The way to the harness.
    pub channel: Box<dyn HarnessChannel>,
    /// Whether the harness remembers the session, so that it must not be told its history (invariant I4).
    pub remembers: bool,
}

/// A runtime failed. The text is for the operator: it names no snapshot and nothing of what is in one.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RuntimeFailure(pub String);

/// Compute could not be acquired.
#[derive(Debug, Error)]
pub enum AcquireError {
    /// The harness cannot be reached.
    #[error(transparent)]
    Unavailable(#[from] HarnessUnavailable),
    /// The runtime failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeFailure),
}

/// A harness of which nothing is kept between two turns: the `local` runtime is one in this process, the `remote` one
/// is dialed. There, a session's log is all there is to restore it from.
#[async_trait]
impl<P: HarnessPlacement> Runtime for P {
    fn capabilities(&self) -> RuntimeCapabilities {
        RuntimeCapabilities::default()
    }

    async fn probe(&self) -> Result<Box<dyn HarnessChannel>, AcquireError> {
        Ok(self.acquire().await?)
    }

    async fn create(&self, _: &SessionPoint) -> Result<Compute, AcquireError> {
        Ok(Compute { channel: self.acquire().await?, remembers: false })
    }

    async fn restore(&self, of: &SessionPoint, _: &SnapshotRef) -> Result<Compute, AcquireError> {
        self.create(of).await
    }

    async fn snapshot(&self, of: &SessionPoint) -> Result<SnapshotRef, RuntimeFailure> {
        Ok(SnapshotRef { local: of.session.as_str().to_owned(), ..SnapshotRef::default() })
    }

    async fn fork(&self, _: &SnapshotRef, _: &SessionPoint) -> Result<(), RuntimeFailure> {
        Err(RuntimeFailure("this runtime keeps no memory that could be cloned".to_owned()))
    }

    async fn stop(&self, _: &SessionUid) -> Result<(), RuntimeFailure> {
        Ok(())
    }

    async fn status(&self, _: &SessionPoint) -> Result<ComputeState, RuntimeFailure> {
        Ok(ComputeState::ComputeNone)
    }
}
