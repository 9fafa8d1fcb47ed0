//! What nodes ask each other about the sessions that run on them. Only promptness depends on the answers: whoever gets none
//! goes on, and its fence shuts the other node out.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use cluster::{Coordinator, News, Peer, Question};
use journal::{ExecutionId, Incarnation, Observer, Seq, SessionState, SessionUid};

use super::guard::{Guard, Guards};
use super::invocations::Drives;
use super::live::LiveTurn;
use super::{Host, HostError, HostParts, cancel};
use crate::agents::AgentCatalog;

impl Host {
    /// Takes the session's guard, unless an operation runs on the session, here or on the node that owns it.
    pub(super) async fn take(&self, state: &SessionState) -> Result<Guard, HostError> {
        let mut guard = self.guards.try_take(state.uid())?;
        let Some(owner) = self.running_elsewhere(state) else { return Ok(guard) };
        let question = Question::Busy { session: state.uid().clone() };
        match self.parts.coordinator.ask(owner, question).await {
            Ok(true) => return Err(HostError::Busy),
            Ok(false) => {}
            // It may only be asleep.
            Err(_no_answer) => guard.note_silent(owner),
        }
        Ok(guard)
    }

    /// The run of another node that began the session's last turn, unless that turn has ended.
    pub(super) fn running_elsewhere(&self, state: &SessionState) -> Option<Incarnation> {
        let projection = state.projection();
        let unfinished = projection.latest_execution().is_some() && !projection.latest_execution_ended();
        state.owner().filter(|&owner| unfinished && owner != self.journal().incarnation())
    }

    /// Stops a turn that runs on the session here. Returns its id, or `None` if it does not run here.
    ///
    /// # Errors
    /// [`HostError::Busy`] if it does not stop in time.
    pub(super) async fn cancel_live(
        &self,
        session: &SessionUid,
        named: Option<&ExecutionId>,
        reason: &str,
    ) -> Result<Option<ExecutionId>, HostError> {
        let meant = |live: &LiveTurn| named.is_none_or(|named| named == live.execution());
        let Some(live) = self.guards.live_turn(session).filter(meant) else { return Ok(None) };
        cancel::stop(&live, reason).await?;
        Ok(Some(live.execution().clone()))
    }
}

/// Answers the questions of other nodes for a host, as long as it lives.
pub(super) struct PeerDesk {
    parts: Weak<HostParts>,
    guards: Guards,
    logs: super::logs::Logs,
    agents: AgentCatalog,
    drives: Drives,
}

impl PeerDesk {
    pub(super) fn of(host: &Host) -> Arc<Self> {
        let Host { parts, guards, logs, agents, drives } = host.clone();
        Arc::new(Self { parts: Arc::downgrade(&parts), guards, logs, agents, drives })
    }

    fn host(&self) -> Option<Host> {
        let parts = self.parts.upgrade()?;
        let Self { guards, logs, agents, drives, .. } = self;
        let (guards, logs, agents, drives) = (guards.clone(), logs.clone(), agents.clone(), drives.clone());
        Some(Host { parts, guards, logs, agents, drives })
    }
}

#[async_trait]
impl Peer for PeerDesk {
    async fn answer(&self, question: Question) -> Option<bool> {
        match question {
            Question::Busy { session } => Some(self.guards.is_taken(&session)),
            Question::Cancel { session, execution, reason } => {
                let stopped = self.host()?.cancel_live(&session, execution.as_ref(), &reason).await;
                stopped.ok().map(|stopped| stopped.is_some())
            }
        }
    }

    async fn dispossessed(&self, session: &SessionUid) {
        let (Some(live), Some(host)) = (self.guards.live_turn(session), self.host()) else { return };
        // Only the journal can say so: the note may be older than the turn.
        match host.state(session).await {
            Ok(state) if state.owner() != Some(host.journal().incarnation()) => live.order().dispossess(),
            Ok(_) => {}
            Err(error) => tracing::debug!(%session, %error, "cannot tell who owns the session"),
        }
    }
}

/// Tells whoever follows a session what is appended to it.
pub(super) struct Announcer(pub(super) Arc<dyn Coordinator>);

impl Observer for Announcer {
    fn appended(&self, session: &SessionUid, last_seq: Seq) {
        self.0.tell(session, News::Appended { last_seq });
    }

    fn streams_changed(&self, session: &SessionUid) {
        self.0.tell(session, News::Streamed);
    }
}

#[cfg(test)]
mod tests;
