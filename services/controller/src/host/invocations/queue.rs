//! Driving the queue of one instance.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use env::TaskKind;
use journal::SessionUid;
use journal::invocations::{InvocationId, Outcome, Run, RunError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempted;
use super::finish::internal_error;
use super::patience::Patience;
use crate::host::Host;
use crate::metrics::METRICS;

/// How often a session is looked at that waits for an approval, or for another operation, while nothing is heard of it.
const POLL: Duration = Duration::from_secs(1);

/// Why a queue is not driven on.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    /// Nothing is left, or another node drives it.
    Done,
    /// The node shuts down: any other may go on.
    Stopped,
}

impl Host {
    /// Runs the invocations of an instance one after the other, as long as this node is to.
    pub(super) async fn drive_queue(&self, instance: &SessionUid) {
        let stop = self.parts.tasks.cancelled(TaskKind::Request);
        let mut patience = Patience::new();
        loop {
            let begun = Instant::now();
            match self.drive_claimed(instance, &stop).await {
                Ok(_) => return,
                Err(RunError::Lost) => {}
                Err(error) => tracing::warn!(%instance, %error, "queue of invocations cannot be driven"),
            }
            // However long it takes: nobody else would.
            let pause = patience.failed(begun).unwrap_or_else(|| {
                patience = Patience::new();
                Duration::ZERO
            });
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }

    async fn drive_claimed(&self, instance: &SessionUid, stop: &CancellationToken) -> Result<Left, RunError> {
        if stop.is_cancelled() {
            return Ok(Left::Stopped);
        }
        let Some(run) = self.journal().claim_run(instance).await? else { return Ok(Left::Done) };
        while let Some(id) = self.journal().next_invocation(&run).await? {
            if let ControlFlow::Break(left) = self.run_invocation(&run, id, stop).await? {
                if left == Left::Stopped {
                    self.journal().release_run(&run).await?;
                }
                return Ok(left);
            }
        }
        Ok(Left::Done)
    }

    /// Runs an invocation to its end, however often that has to be tried. Breaks if the queue is not driven on after it.
    async fn run_invocation(
        &self,
        run: &Run,
        id: InvocationId,
        stop: &CancellationToken,
    ) -> Result<ControlFlow<Left>, RunError> {
        let running = Arc::new(METRICS.invocation_begins());
        let mut patience = Patience::new();
        let outcome = loop {
            let (begun, mut news) = (Instant::now(), self.follow(run.session()));
            let pause = match self.attempt(run, id, &running).await {
                Attempted::Completed => break Outcome::Success,
                Attempted::Failed(outcome, _) => break outcome,
                Attempted::Lost => return Err(RunError::Lost),
                Attempted::Stopped => return Ok(ControlFlow::Break(Left::Stopped)),
                Attempted::Waits => POLL,
                Attempted::Again(reason) => {
                    tracing::info!(session = %run.session(), invocation = %id, reason, "invocation is interrupted");
                    match patience.failed(begun) {
                        Some(pause) => pause,
                        None => break internal_error(),
                    }
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(ControlFlow::Break(Left::Stopped)),
                () = sleep(pause) => {}
                _ = news.next(), if pause == POLL => {}
            }
        };
        let goes_on = self.finish(run, id, &outcome).await?;
        running.finished(outcome == Outcome::Success);
        Ok(if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(Left::Done) })
    }
}
