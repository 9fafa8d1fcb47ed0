//! Running a turn to its end, new or recorded, and parking it at a gate.

use journal::{SessionState, Writer};
use tracing::Instrument;
use wire::LogRecord;

use super::compute::{Standing, snapshot, stop, suspend_event};
use super::context::Bounds;
use super::driver::Driver;
use super::exchange::Exchange;
use super::guard::Guard;
use super::updates::Updates;
use super::{Host, HostError};
use crate::metrics::{METRICS, TurnOutcome};
use crate::ports::{HarnessChannel, Runtime, TurnStart};
use crate::turn::{LostWriter, Turn, TurnEnd};

/// A turn that may now run: its START is recorded and its fence minted.
pub(super) struct ReadyTurn<'a> {
    pub(super) turn: Turn,
    pub(super) start: TurnStart,
    pub(super) channel: Box<dyn HarnessChannel>,
    /// Where the harness runs.
    pub(super) runtime: &'a dyn Runtime,
    /// What the log before it says of that.
    pub(super) standing: Standing,
    pub(super) bounds: &'a Bounds,
    /// The guard that is held for it.
    pub(super) guard: &'a Guard,
    pub(super) writer: Writer,
    /// The streams, if the turn is an invocation.
    pub(super) exchange: Option<Box<Exchange>>,
    /// What was recorded of it just now.
    pub(super) appended: Vec<LogRecord>,
}

/// How a turn ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Completed,
    Parked,
}

impl Host {
    /// Runs a turn and keeps what it added to the log.
    pub(super) async fn run_turn(&self, ready: ReadyTurn<'_>, updates: &mut Updates) -> Result<Ended, HostError> {
        let ReadyTurn { turn, start, channel, runtime, standing, bounds, guard, mut writer, exchange, mut appended } =
            ready;
        let recorded_id = turn.recorded_id().clone();
        let bounds = &bounds.stopped_by(guard.run(recorded_id.clone()));
        if let Some(owner) = guard.silent() {
            self.parts.coordinator.dispossess(owner, writer.uid());
        }
        let driver = Driver {
            journal: self.journal(),
            coordinator: &*self.parts.coordinator,
            env: &self.parts.env,
            models: &*self.parts.models,
            tools: self.parts.tools.as_deref(),
            bounds,
            limits: self.parts.turn_limits,
            session: start.session.clone(),
            execution: start.execution.clone(),
            writer: &mut writer,
            updates,
            exchange,
            appended: &mut appended,
        };
        let live = METRICS.turn_begins();
        let node = self.parts.coordinator.node().name.as_str();
        let span = tracing::info_span!("turn", node, session = %start.session, execution = %start.execution);
        let end = driver.run(turn, channel, start).instrument(span).await;
        let outcome = match end {
            TurnEnd::Completed => Ok(Ended::Completed),
            TurnEnd::Parked(_) => {
                // The turn will run from its start again, on the compute it began with.
                self.park((runtime, &standing), &mut writer, updates, &mut appended).await.map(|()| Ended::Parked)
            }
            TurnEnd::Canceled => Err(HostError::TurnCanceled),
            TurnEnd::Failed(failure) => Err(failure.into()),
            TurnEnd::Lost(lost) => Err(lost.into()),
        };
        live.ended(outcome_of(&outcome));
        self.logs.appended(writer.uid(), appended);
        if matches!(outcome, Err(HostError::TurnCanceled)) {
            self.close_canceled(&mut writer, &recorded_id, bounds.stop_order().reason(), updates).await?;
        }
        outcome
    }

    /// The harness has parked and closed: the compute is put away under the turn's own fence (execution.md §9.2).
    async fn park(
        &self,
        (runtime, standing): (&dyn Runtime, &Standing),
        writer: &mut Writer,
        updates: &mut Updates,
        appended: &mut Vec<LogRecord>,
    ) -> Result<(), HostError> {
        let snapshot = snapshot(runtime, &standing.point).await?;
        let records = self.journal().append(writer, vec![suspend_event(&snapshot)]).await?;
        stop(runtime, writer.uid()).await;
        updates.records(&records).await;
        appended.extend(records);
        Ok(())
    }

    /// Tells the client how the session stands at the end of a park or a recovery.
    pub(super) async fn final_session(&self, state: &SessionState, updates: &mut Updates) -> Result<(), HostError> {
        updates.session(&self.state(state.uid()).await?).await;
        Ok(())
    }
}

/// What a run of a turn is counted under.
fn outcome_of(outcome: &Result<Ended, HostError>) -> TurnOutcome<'_> {
    match outcome {
        Ok(Ended::Completed) => TurnOutcome::Completed,
        Ok(Ended::Parked) => TurnOutcome::Parked,
        Err(HostError::TurnCanceled) => TurnOutcome::Canceled,
        Err(HostError::Turn(failure)) => TurnOutcome::Failed(failure),
        Err(HostError::Conflict) => TurnOutcome::Lost(LostWriter::Conflict),
        Err(HostError::Fenced) => TurnOutcome::Lost(LostWriter::Fenced),
        Err(HostError::OutcomeUnknown) => TurnOutcome::Lost(LostWriter::Unknown),
        Err(_) => TurnOutcome::ParkFailed,
    }
}

impl From<LostWriter> for HostError {
    fn from(lost: LostWriter) -> Self {
        match lost {
            LostWriter::Conflict => Self::Conflict,
            LostWriter::Fenced => Self::Fenced,
            LostWriter::Unknown => Self::OutcomeUnknown,
        }
    }
}
