//! The end of an invocation (stream-session protocol, section 16).

use journal::invocations::{
    InvocationId, Outcome, OutputChange, OutputFault, OutputWrite, Role, Run, RunError, StreamProgress, StreamState,
    Terminal,
};
use stream_session::ErrorCode;
use stream_session::message::INVOCATION_FAILED;

use crate::host::Host;

/// Most streams that are ended at once.
const AT_ONCE: usize = 500;
/// Why streams end whose invocation failed.
const FAILED_REASON: &str = "invocation-failed";

/// The agent failed.
pub(super) fn failed() -> Outcome {
    failure(ErrorCode::InvocationFailed, INVOCATION_FAILED)
}

/// The host failed.
pub(super) fn internal_error() -> Outcome {
    failure(ErrorCode::InternalError, "the host could not carry the invocation out")
}

fn failure(code: ErrorCode, message: &str) -> Outcome {
    Outcome::Failure { code: code.as_str().to_owned(), message: message.to_owned() }
}

/// Whether the invocation of these streams has failed already, and only that is not noted yet.
pub(super) fn has_failed(streams: &[StreamState]) -> bool {
    let failed = Terminal::CancelledByServer(FAILED_REASON.to_owned());
    streams.iter().any(|stream| stream.progress.terminal.as_ref() == Some(&failed))
}

impl Host {
    /// Ends an invocation. All streams of one that failed end before it does (T3). Returns whether the run goes on.
    pub(super) async fn finish(&self, run: &Run, id: InvocationId, outcome: &Outcome) -> Result<bool, RunError> {
        loop {
            if *outcome != Outcome::Success {
                self.end_streams(run, id).await?;
            }
            match self.journal().finish_invocation(run, id, outcome.clone()).await {
                // The client has just introduced another input.
                Err(RunError::Fault(_, OutputFault::Open)) if *outcome != Outcome::Success => {}
                finished => return finished,
            }
        }
    }

    async fn end_streams(&self, run: &Run, id: InvocationId) -> Result<(), RunError> {
        let Some(standing) = self.journal().standing(run.session(), id).await? else { return Err(RunError::Lost) };
        let open = standing.streams.into_iter().filter(|stream| stream.terminal.is_none());
        let given_up = |stream: StreamProgress| OutputWrite { stream: stream.id, change: given_up(stream.role) };
        let writes: Vec<_> = open.map(given_up).collect();
        for writes in writes.chunks(AT_ONCE) {
            self.journal().put_outputs(run, id, writes.to_vec()).await?;
        }
        Ok(())
    }
}

fn given_up(role: Role) -> OutputChange {
    let reason = FAILED_REASON.to_owned();
    match role {
        Role::Input => OutputChange::Drop(reason),
        Role::Output => OutputChange::End(Terminal::CancelledByServer(reason)),
    }
}
