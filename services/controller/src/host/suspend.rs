//! Suspend: puts a session's compute away (execution.md §10). Describes no harness, so it works while one is down.

use journal::SessionState;
use wire::{Session, SuspendRequest};

use super::compute::{snapshot, stop, suspend_event};
use super::{Host, HostError};

impl Host {
    /// Puts the session's compute into a snapshot and appends SUSPEND, which names it. Allowed on an empty session and on a suspended one.
    ///
    /// # Errors
    /// [`HostError::Busy`], broken approval evidence, a harness that is not served here, a failed runtime, or a lost race.
    pub async fn suspend(&self, request: SuspendRequest) -> Result<Session, HostError> {
        let known = self.session(&request.session).await?;
        let uid = known.uid();
        let _guard = self.take(&known).await?;
        let state = self.state(uid).await?;
        let recorded = self.open_gate_harness(&state).await?;
        let route = self.recorded_route(state.harness(), recorded.as_deref()).await?;
        let runtime = &*route.harness.runtime;
        let snapshot = snapshot(runtime, &self.standing(&state).await?.point).await?;
        self.journal().take_over(&state, vec![suspend_event(&snapshot)]).await?;
        stop(runtime, uid).await;
        Ok(self.state(uid).await?.to_wire())
    }

    /// While an own gate is open its turn's recorded harness is suspended, else the session's.
    async fn open_gate_harness(&self, state: &SessionState) -> Result<Option<String>, HostError> {
        if !state.projection().has_approvals() {
            return Ok(None);
        }
        let log = self.logs.load(state).await?;
        log.index.check_approvals().map_err(HostError::Evidence)?;
        Ok(log.index.open_gate_harness().map(str::to_owned))
    }
}
