//! Resume: finishes the interrupted turn of a session (execution.md §7.2, §7.3).

use journal::{ExecutionId, SessionState};
use wire::event::Body;
use wire::{ApprovalRequest, Event, EventKind, ExecRequest, History, ResumeRequest, Session};

use super::admission::{Admitted, admit};
use super::compute::{Standing, resume_event};
use super::context::Bounds;
use super::exchange::Exchange;
use super::guard::Guard;
use super::logs::SessionLog;
use super::routing::{Route, refuse_pinned, refuse_stateless, resolve_recorded, route};
use super::run::{Ended, ReadyTurn};
use super::updates::Updates;
use super::{CallContext, Host, HostError};
use crate::invocation;
use crate::log::{ResumeStep, TurnSpan};
use crate::ports::TurnStart;
use crate::turn::Turn;

impl Host {
    /// Runs the interrupted turn from its records, or only marks the session as resumed if none is pending. The turn is
    /// a task of its own: dropping the future interrupts it as a client that goes away does.
    ///
    /// # Errors
    /// What the order of checks in execution.md §7.2 refuses, a failed turn, or a lost race.
    pub async fn resume(&self, request: ResumeRequest, call: CallContext) -> Result<Session, HostError> {
        self.detached("resume", call, |host, call| async move { host.run_resume(request, &call).await }).await
    }

    async fn run_resume(&self, request: ResumeRequest, call: &CallContext) -> Result<Session, HostError> {
        let known = self.session(&request.session).await?;
        let guard = self.take(&known).await?;
        let state = self.state(known.uid()).await?;
        self.resume_guarded(&state, &guard, (call, &self.bounds(call)), &mut Updates::none()).await?;
        Ok(self.state(known.uid()).await?.to_wire())
    }

    /// Exec without inputs on a turn with approvals: resumes that turn (execution.md §3.2).
    pub(super) async fn recover_approval(
        &self,
        state: &SessionState,
        request: &ExecRequest,
        call: &CallContext,
        bounds: &Bounds,
        updates: &mut Updates,
    ) -> Result<(), HostError> {
        updates.session(state).await;
        let guard = self.take(state).await?;
        let state = self.state(state.uid()).await?;
        bounds.check()?;
        if request.expected_last_seq.is_some_and(|expected| expected != state.last_seq().to_wire()) {
            return Err(HostError::Conflict);
        }
        self.resume_guarded(&state, &guard, (call, bounds), updates).await?;
        self.final_session(&state, updates).await
    }

    async fn resume_guarded(
        &self,
        state: &SessionState,
        guard: &Guard,
        (call, bounds): (&CallContext, &Bounds),
        updates: &mut Updates,
    ) -> Result<(), HostError> {
        let SessionLog { index, history, .. } = bounds.in_time(self.logs.load(state)).await?;
        let plan = index.plan_resume().map_err(HostError::Log)?;
        let standing = Standing::of(state.uid(), &index);
        // What is appended is added to the index in place, if nobody else holds it.
        drop(index);
        let route = self.recorded_route(state.harness(), plan.harness.as_deref()).await?;
        match plan.step {
            ResumeStep::AwaitDecision(_) => Ok(()),
            ResumeStep::RepairRequest { execution, tool_call_id } => {
                drop(history);
                let request = approval_request(&execution, tool_call_id);
                self.append_marker(state, request, updates).await
            }
            ResumeStep::Refuse(error) => Err(HostError::Log(error)),
            ResumeStep::NothingPending => {
                drop(history);
                admit(&route, &standing, bounds).await?;
                self.append_marker(state, resume_event(), updates).await
            }
            ResumeStep::Run(span) => {
                let admitted = admit(&route, &standing, bounds).await?;
                check_version(&plan.harness_version, &admitted.version)?;
                if let Some(invocation) = span.execution().and_then(invocation::of_execution) {
                    // Whoever drives its queue resumes it. Only the session that it was accepted for has that, and its streams.
                    let accepted = self.journal().invocation(state.uid(), invocation).await?.is_some();
                    return Err(if accepted { HostError::Busy } else { HostError::InvocationOfAnother });
                }
                let run = RecordedRun { state, guard, history, span, route: &route, standing, admitted, invoked: None };
                self.run_recorded(run, (call, bounds), updates).await.map(drop)
            }
        }
    }

    /// The harness that a pending turn was recorded on, if it may run turns of a session stored with `stored`; that one
    /// if no turn is pending or no harness is recorded (execution.md §7.2, steps 4 and 5).
    pub(super) async fn recorded_route(&self, stored: &str, recorded: Option<&str>) -> Result<Route, HostError> {
        self.learn(&[stored, recorded.unwrap_or_default()]).await?;
        let harnesses = self.harnesses();
        let Some(recorded) = recorded else { return route(harnesses, stored, "") };
        let stored = if stored.is_empty() { harnesses.default_name() } else { stored };
        let route = resolve_recorded(harnesses, recorded)?;
        if recorded != stored {
            refuse_pinned(harnesses, stored, recorded)?;
            refuse_stateless(harnesses, stored, &route)?;
        }
        Ok(route)
    }

    /// Runs a recorded turn again, and beyond what is recorded.
    pub(super) async fn run_recorded(
        &self,
        run: RecordedRun<'_>,
        (call, bounds): (&CallContext, &Bounds),
        updates: &mut Updates,
    ) -> Result<Ended, HostError> {
        let RecordedRun { state, guard, history, span, route, standing, admitted, invoked } = run;
        let (exchange, invocation) = invoked.unzip();
        let uid = state.uid();
        let recorded = span.read(uid, &history).map_err(HostError::Log)?;
        let writer = self.journal().mint(uid).await?;
        if writer.head() != state.last_seq() {
            return Err(HostError::Conflict);
        }
        let start = TurnStart {
            session: uid.clone(),
            execution: recorded.execution.clone(),
            history: admitted.history(history.prefix(recorded.history_len)),
            inputs: recorded.inputs,
            config: recorded.config,
            resume_from_seq: recorded.resume_from_seq,
            request_id: call.request_id.clone(),
            invocation,
        };
        let turn = Turn::recover(recorded.execution, recorded.recording, admitted.resumability);
        // An invocation is run again and again while its harness cannot be had.
        let turn = turn.after_error(exchange.is_some() && recorded.failed);
        let runtime = &*route.harness.runtime;
        let (channel, appended) = (admitted.channel, Vec::new());
        let ready = ReadyTurn { turn, start, channel, runtime, standing, bounds, guard, writer, exchange, appended };
        self.run_turn(ready, updates).await
    }

    /// Appends one record under a fence of its own.
    pub(super) async fn append_marker(
        &self,
        state: &SessionState,
        event: Event,
        updates: &mut Updates,
    ) -> Result<(), HostError> {
        let (_, records) = self.journal().take_over(state, vec![event]).await?;
        updates.records(&records).await;
        self.logs.appended(state.uid(), records);
        Ok(())
    }
}

/// A recorded turn that may run.
pub(super) struct RecordedRun<'a> {
    pub(super) state: &'a SessionState,
    pub(super) guard: &'a Guard,
    pub(super) history: History,
    pub(super) span: TurnSpan,
    pub(super) route: &'a Route,
    /// What the log says of the compute.
    pub(super) standing: Standing,
    pub(super) admitted: Admitted,
    /// The streams and the first frame of an invocation, if the turn is one.
    pub(super) invoked: Option<(Box<Exchange>, wire::Invocation)>,
}

pub(super) fn approval_request(execution: &ExecutionId, tool_call_id: String) -> Event {
    let request = ApprovalRequest { tool_call_id, ..ApprovalRequest::default() };
    Event::new(EventKind::EventApprovalRequest, Body::Approval(request)).of_execution(execution.as_str())
}

/// An empty recorded version was never told; an empty served one differs from every recorded one.
pub(super) fn check_version(recorded: &str, served: &str) -> Result<(), HostError> {
    if recorded.is_empty() || recorded == served {
        return Ok(());
    }
    Err(HostError::VersionMismatch { recorded: recorded.into(), served: served.into() })
}
