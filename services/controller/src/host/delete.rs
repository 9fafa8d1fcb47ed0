//! DeleteSession: removes a session and its records. An additive power of operators; hosts that do not grant it answer
//! UNIMPLEMENTED.

use env::TaskKind;
use journal::{Deletion, DeletionNote, SessionUid};
use wire::{DeleteSessionRequest, Session};

use super::compute::stop;
use super::{CallContext, Host, HostError, session_uid};

impl Host {
    /// Deletes a session. The work is a task of its own, which goes on when the caller goes away; what the node does not
    /// come to before it stops is finished at its next start, or when the deletion is asked for again.
    ///
    /// # Errors
    /// [`HostError::Unsupported`] where it is not granted, [`HostError::Busy`] while an operation runs on the session, [`HostError::Draining`] if it is gone and its records are not, or a failed journal.
    pub async fn delete(&self, request: DeleteSessionRequest, call: CallContext) -> Result<Session, HostError> {
        if !self.parts.powers.delete_session {
            return Err(HostError::Unsupported("DeleteSession"));
        }
        let uid = session_uid(&request.uid)?;
        let note =
            DeletionNote { identity: request.identity, reason: request.reason, request_id: call.request_id.clone() };
        self.detached("delete", call, |host, _| async move { host.run_delete(&uid, note).await }).await
    }

    async fn run_delete(&self, uid: &SessionUid, note: DeletionNote) -> Result<Session, HostError> {
        let known = self.journal().session(uid).await?;
        let guard = match &known {
            Some(state) => self.take(state).await?,
            None => self.guards.try_take(uid)?,
        };
        let deletion = self.journal().delete(uid, note).await?;
        if let Some(harness) = known.and_then(|known| self.harnesses().find(known.harness())) {
            stop(&*harness.runtime, uid).await;
        }
        drop(guard);
        self.logs.forget(uid);
        tracing::info!(session = %uid, last_seq = %deletion.last_seq(), "session is deleted");
        self.finish_deletion(uid, TaskKind::Request).await?;
        answer(&deletion)
    }

    /// Finishes in the background what calls that were cut off have left of deleted sessions.
    pub fn finish_deletions(&self) {
        let host = self.clone();
        self.parts.tasks.spawn("deletions", TaskKind::Background, async move {
            if let Err(error) = host.run_finish_deletions().await {
                tracing::warn!(%error, "records of deleted sessions are left; the next start removes them");
            }
        });
    }

    async fn run_finish_deletions(&self) -> Result<(), HostError> {
        while let Some(uid) = self.journal().unfinished_deletion().await? {
            self.finish_deletion(&uid, TaskKind::Background).await?;
            tracing::info!(session = %uid, "records of a deleted session are removed");
        }
        Ok(())
    }

    /// Removes the records of a deleted session, unless the node stops tasks of this kind before that is done.
    async fn finish_deletion(&self, uid: &SessionUid, kind: TaskKind) -> Result<(), HostError> {
        let stopped = self.parts.tasks.cancelled(kind);
        let done = stopped.run_until_cancelled(self.journal().finish_deletion(uid)).await;
        Ok(done.ok_or(HostError::Draining)??)
    }
}

fn answer(deletion: &Deletion) -> Result<Session, HostError> {
    Ok(deletion.to_wire()?)
}
