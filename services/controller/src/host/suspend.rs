//! Suspend: puts a session's compute away (execution.md §10). Describes no harness, so it works while one is down.

use wire::{Session, SuspendRequest};

use super::routing::{refuse_pinned, resolve};
use super::run::suspend_event;
use super::{Host, HostError};
use crate::log::Log;

impl Host {
    /// Appends SUSPEND. Allowed on an empty session and on a suspended one.
    ///
    /// # Errors
    /// [`HostError::Busy`], broken approval evidence, a harness that is not served here, or a lost race.
    pub async fn suspend(&self, request: SuspendRequest) -> Result<Session, HostError> {
        let known = self.session(&request.session).await?;
        let uid = known.uid();
        let _guard = self.guards.try_take(uid)?;
        let state = self.state(uid).await?;
        if state.projection().has_approvals() {
            let log = self.logs.load(&state).await?;
            self.learn(&[state.harness(), log.index.open_gate_harness().unwrap_or_default()]).await?;
            let harness = self.harness_of_gate(&log.index, state.harness());
            self.logs.keep(uid, log);
            harness?;
        } else {
            self.learn(&[state.harness()]).await?;
            resolve(self.harnesses(), state.harness())?;
        }
        self.journal().take_over(uid, state.last_seq(), vec![suspend_event(uid.as_str())]).await?;
        Ok(self.state(uid).await?.to_wire())
    }

    /// While an own gate is open its turn's recorded harness is suspended, else the session's.
    fn harness_of_gate(&self, log: &Log, stored: &str) -> Result<(), HostError> {
        log.check_approvals().map_err(HostError::Evidence)?;
        let recorded = log.open_gate_harness();
        let Some(recorded) = recorded else { return resolve(self.harnesses(), stored).map(drop) };
        super::routing::resolve_recorded(self.harnesses(), recorded)?;
        if recorded == stored { Ok(()) } else { refuse_pinned(self.harnesses(), stored, recorded) }
    }
}
