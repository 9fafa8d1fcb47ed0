//! Exec: a new turn (execution.md §3, §4).

use env::TaskKind;
use futures::stream::{self, BoxStream, StreamExt};
use journal::{ExecutionId, Seq, SessionState};
use wire::event::Body;
use wire::{Event, EventKind, ExecRequest, ExecUpdate, ExecutionStart, Session};

use super::admission::{Admitted, admit};
use super::compute::Standing;
use super::context::Bounds;
use super::guard::Guard;
use super::logs::SessionLog;
use super::routing::{Route, route};
use super::run::{Ended, ReadyTurn};
use super::updates::Updates;
use super::{CallContext, Host, HostError};
use crate::log::ExecPlan;
use crate::ports::TurnStart;
use crate::turn::Turn;

impl Host {
    /// Runs one turn and streams what it commits. The turn is a task of its own: dropping the stream tells it that
    /// the client is gone, and what it had begun to commit is still committed.
    #[must_use]
    pub fn exec(&self, request: ExecRequest, call: CallContext) -> BoxStream<'static, Result<ExecUpdate, HostError>> {
        let call = CallContext { cancelled: call.cancelled.child_token(), ..call };
        let client_gone = call.cancelled.clone().drop_guard();
        let (mut updates, receiver) = Updates::channel(call.cancelled.clone());
        let host = self.clone();
        self.parts.tasks.spawn("exec", TaskKind::Request, async move {
            let outcome = host.run_exec(request, &call, &mut updates).await;
            updates.finish(outcome).await;
        });
        stream::unfold((receiver, client_gone), |(mut receiver, client_gone)| async move {
            receiver.recv().await.map(|update| (update, (receiver, client_gone)))
        })
        .boxed()
    }

    async fn run_exec(&self, request: ExecRequest, call: &CallContext, updates: &mut Updates) -> Result<(), HostError> {
        let bounds = self.bounds(call).deadline_unix(request.deadline_unix, &self.parts.env);
        let chosen = chosen_id(&request)?;
        let state = self.exec_session(&request).await?;
        if bounds.in_time(self.plan_exec(&state, &request)).await? == ExecPlan::RecoverApproval {
            return self.recover_approval(&state, &request, call, &bounds, updates).await;
        }
        self.learn(&[state.harness(), &request.harness]).await?;
        let route = route(self.harnesses(), state.harness(), &request.harness)?;
        self.refuse_unasked(state.harness(), &route, &bounds).await?;
        updates.session(&state).await;

        let guard = self.take(&state).await?;
        let expected = request.expected_last_seq.map_or(Some(state.last_seq()), Seq::from_wire);
        let state = bounds.in_time(self.exec_state(state, expected, &request)).await?;
        let log = bounds.in_time(self.logs.load(&state)).await?;
        let standing = Standing::of(state.uid(), &log.index);
        let admitted = admit(&route, &standing, &bounds).await?;
        if admitted.only_invocations {
            return Err(HostError::OnlyInvocations(route.name));
        }
        let (bounds, guard) = (&bounds, &guard);
        let turn = NewTurn { request, chosen, call, bounds, guard, expected, log, standing, route, admitted };
        if self.new_turn(turn, &state, updates).await? == Ended::Parked {
            self.final_session(&state, updates).await?;
        }
        Ok(())
    }

    /// The session of the request, created if it names none.
    async fn exec_session(&self, request: &ExecRequest) -> Result<SessionState, HostError> {
        if request.session.is_empty() {
            return self.create_session(Session { harness: request.harness.clone(), ..Session::default() }).await;
        }
        match self.session(&request.session).await {
            // An override that this host does not know is the more useful thing to tell.
            Err(HostError::UnknownSession) if !request.harness.is_empty() => {
                self.learn(&[&request.harness]).await?;
                let known = self.harnesses().find(&request.harness).is_some();
                Err(if known { HostError::UnknownSession } else { HostError::UnknownHarness(request.harness.clone()) })
            }
            found => found,
        }
    }

    /// The state that the turn starts from. What was read before the guard was taken serves, unless the client expects
    /// another head: if the log has moved since, the compare-and-set of the first append fails.
    async fn exec_state(
        &self,
        known: SessionState,
        expected: Option<Seq>,
        request: &ExecRequest,
    ) -> Result<SessionState, HostError> {
        if expected == Some(known.last_seq()) {
            return Ok(known);
        }
        let state = self.state(known.uid()).await?;
        match self.plan_exec(&state, request).await? {
            ExecPlan::NewTurn => Ok(state),
            ExecPlan::RecoverApproval => Err(HostError::Conflict),
        }
    }

    /// Scans the approvals of a session that has any.
    async fn plan_exec(&self, state: &SessionState, request: &ExecRequest) -> Result<ExecPlan, HostError> {
        if !state.projection().has_approvals() {
            return Ok(ExecPlan::NewTurn);
        }
        let log = self.logs.load(state).await?;
        log.index.plan_exec(!request.inputs.is_empty()).map_err(HostError::Log)
    }

    /// Appends START and INPUTs under a new fence and runs the turn.
    async fn new_turn(
        &self,
        turn: NewTurn<'_>,
        state: &SessionState,
        updates: &mut Updates,
    ) -> Result<Ended, HostError> {
        let NewTurn { request, chosen, call, bounds, guard, expected, log, standing, route, admitted } = turn;
        let SessionLog { index, history, .. } = log;
        let uid = state.uid();
        index.check_start().map_err(HostError::Log)?;
        // Before a fence is minted: the turn may be running elsewhere, and goes on.
        if chosen.as_ref().is_some_and(|chosen| index.has_turn(chosen)) {
            return Err(HostError::TurnExists);
        }
        // What the turn appends is added to the index in place, if nobody else holds it.
        drop(index);
        if expected != Some(state.last_seq()) {
            // A turn that lost the race has fenced out whoever ran before it all the same.
            self.journal().mint(uid).await?;
            return Err(HostError::Conflict);
        }

        let execution = chosen.unwrap_or_else(|| ExecutionId::mint(&self.parts.env));
        let resumability = admitted.resumability;
        let start = TurnStart {
            session: uid.clone(),
            execution: execution.clone(),
            history: admitted.history(history),
            inputs: request.inputs,
            config: request.config,
            resume_from_seq: request.resume_from_seq,
            request_id: call.request_id.clone(),
            invocation: None,
        };
        let events = opening(&start, route.name.clone(), admitted.version);
        let (writer, appended) = self.journal().take_over(state, events).await?;
        updates.records(&appended).await;

        let turn = Turn::live(execution, resumability);
        let runtime = &*route.harness.runtime;
        let channel = admitted.channel;
        let exchange = None;
        let ready = ReadyTurn { turn, start, channel, runtime, standing, bounds, guard, writer, exchange, appended };
        self.run_turn(ready, updates).await
    }
}

/// A new turn that may begin.
struct NewTurn<'a> {
    request: ExecRequest,
    /// The id that the caller wants it to have.
    chosen: Option<ExecutionId>,
    call: &'a CallContext,
    bounds: &'a Bounds,
    guard: &'a Guard,
    /// The head that the client expects; `None` for one that no session can have.
    expected: Option<Seq>,
    /// That of the session, before the turn.
    log: SessionLog,
    /// What it says of the session's compute.
    standing: Standing,
    route: Route,
    admitted: Admitted,
}

/// The id that the caller chose for its turn, if it did.
fn chosen_id(request: &ExecRequest) -> Result<Option<ExecutionId>, HostError> {
    match request.execution_id.as_str() {
        "" => Ok(None),
        chosen => ExecutionId::chosen(chosen).map(Some).ok_or(HostError::InvalidExecutionId),
    }
}

/// EXECUTION_START and the INPUTs (execution.md §4.2).
pub(super) fn opening(turn: &TurnStart, harness: String, harness_version: String) -> Vec<Event> {
    let event = |kind, body| Event::new(kind, body).of_execution(turn.execution.as_str());
    let start = ExecutionStart {
        config: turn.config.clone(),
        resume_from_seq: turn.resume_from_seq,
        input_count: Some(turn.inputs.len() as i64),
        harness,
        harness_version,
    };
    let inputs = turn.inputs.iter().map(|input| event(EventKind::EventInput, Body::Message(input.clone())));
    std::iter::once(event(EventKind::EventExecutionStart, Body::ExecutionStart(start))).chain(inputs).collect()
}

#[cfg(test)]
mod tests;
