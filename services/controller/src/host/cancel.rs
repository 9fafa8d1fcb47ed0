//! Cancel: ends a turn for good, wherever it runs. An additive power of operators; hosts that do not grant it answer
//! UNIMPLEMENTED.

use std::time::Duration;

use cluster::Question;
use journal::{AppendError, ExecutionId, SessionState, SessionUid, Writer};
use wire::{CancelRequest, Session};

use super::live::LiveTurn;
use super::updates::Updates;
use super::{Host, HostError};
use crate::log::{CancelPlan, Cancellation, Uncancelable};

/// How long to wait for a turn that was told to stop. Longer than a harness may take to, with room for its last append.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a head that moves is followed. The first attempt shuts out whoever moved it.
const ATTEMPTS: u32 = 3;

impl Host {
    /// Cancels the turn that the request names, or the last one. A turn that runs here is stopped although its guard is
    /// taken, and one that runs on another host by that host. One that runs nowhere, or on a host that does not answer, is
    /// ended by the records alone, and that host's next append is refused. A session without an unfinished turn is left as it is.
    ///
    /// # Errors
    /// [`HostError::Unsupported`] where it is not granted, [`HostError::Uncancelable`] for a named turn that has ended
    /// otherwise, [`HostError::Busy`] while an operation other than a turn runs on the session, or a lost race.
    pub async fn cancel(&self, request: CancelRequest) -> Result<Session, HostError> {
        if !self.parts.powers.cancel {
            return Err(HostError::Unsupported("Cancel"));
        }
        let known = self.session(&request.session).await?;
        let uid = known.uid();
        let mut named = some_id(&request.execution_id);
        let stopped = match self.cancel_live(uid, named.as_ref(), &request.reason).await? {
            None => self.cancel_elsewhere(&known, named.as_ref(), &request.reason).await,
            stopped => stopped,
        };
        // It may have ended or parked by itself just before: what its records say counts.
        named = named.or_else(|| stopped.and_then(|stopped| some_id(stopped.as_str())));
        match self.cancel_recorded(uid, named.as_ref(), &request.reason).await {
            // A turn may be about to begin, and that one is meant.
            Err(HostError::Uncancelable(_)) if named.is_none() && self.guards.is_taken(uid) => {
                return Err(HostError::Busy);
            }
            // Nothing runs, which is all that was asked for.
            Err(HostError::Uncancelable(_)) if request.execution_id.is_empty() => {}
            done => done?,
        }
        Ok(self.state(uid).await?.to_wire())
    }

    /// Has the turn stopped by the node that owns the session. Returns its id, or `None` if it did not run there.
    async fn cancel_elsewhere(
        &self,
        state: &SessionState,
        named: Option<&ExecutionId>,
        reason: &str,
    ) -> Option<ExecutionId> {
        let owner = self.running_elsewhere(state)?;
        // Named even so: a question that comes late must not stop the next turn.
        let execution = named.cloned().or_else(|| state.projection().latest_execution());
        let session = state.uid().clone();
        let question = Question::Cancel { session, execution: execution.clone(), reason: reason.to_owned() };
        let is_stopped = self.parts.coordinator.ask(owner, question).await.unwrap_or(false);
        execution.filter(|_| is_stopped)
    }

    /// Ends an interrupted turn by its records, under a fence of its own.
    async fn cancel_recorded(
        &self,
        uid: &SessionUid,
        named: Option<&ExecutionId>,
        reason: &str,
    ) -> Result<(), HostError> {
        for _ in 0..ATTEMPTS {
            let state = self.state(uid).await?;
            let CancelPlan::Close(events) = self.plan_cancel(&state, named, reason).await? else { return Ok(()) };
            let _guard = self.guards.try_take(uid)?;
            match self.journal().take_over(&state, events).await {
                Ok((_, records)) => {
                    self.logs.appended(uid, records);
                    return Ok(());
                }
                Err(AppendError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(HostError::Conflict)
    }

    /// Records the end of the turn with this recorded id, which ran here and has been stopped, under its own fence.
    pub(super) async fn close_canceled(
        &self,
        writer: &mut Writer,
        turn: &ExecutionId,
        reason: &str,
        updates: &mut Updates,
    ) -> Result<(), HostError> {
        let state = self.state(writer.uid()).await?;
        let named = Some(turn).filter(|turn| !turn.is_legacy());
        let plan = match self.plan_cancel(&state, named, reason).await {
            // Whoever has taken the session over meanwhile has ended it, or begun another one.
            Err(HostError::Uncancelable(_)) => return Err(HostError::Fenced),
            plan => plan?,
        };
        let CancelPlan::Close(events) = plan else { return Ok(()) };
        let records = self.journal().append(writer, events).await?;
        updates.records(&records).await;
        self.logs.appended(writer.uid(), records);
        Ok(())
    }

    async fn plan_cancel(
        &self,
        state: &SessionState,
        named: Option<&ExecutionId>,
        reason: &str,
    ) -> Result<CancelPlan, HostError> {
        let log = self.logs.load(state).await?;
        let cancellation = Cancellation { reason, unix_time: self.parts.env.unix_time() };
        log.index.plan_cancel(named, cancellation).map_err(|error| match error {
            Uncancelable::Evidence(error) => HostError::Evidence(error),
            other => HostError::Uncancelable(other),
        })
    }
}

fn some_id(text: &str) -> Option<ExecutionId> {
    Some(ExecutionId::new(text)).filter(|id| !id.is_legacy())
}

/// Gives the order to stop and waits for the turn's end.
pub(super) async fn stop(live: &LiveTurn, reason: &str) -> Result<(), HostError> {
    live.order().give(reason);
    tokio::time::timeout(END_TIMEOUT, live.ended()).await.map_err(|_elapsed| HostError::Busy)
}
