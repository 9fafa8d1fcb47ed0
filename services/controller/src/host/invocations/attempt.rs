//! One try to run an invocation: as a new turn, or by resuming the turn that it is.

use std::sync::Arc;

use journal::invocations::{Invocation, InvocationId, Outcome, Run, RunError, StreamState};
use journal::{ExecutionId, SessionState};
use tokio_util::sync::CancellationToken;

use super::finish::{failed, has_failed, internal_error};
use crate::host::admission::admit;
use crate::host::compute::Standing;
use crate::host::context::Bounds;
use crate::host::exchange::{Exchange, Unusable};
use crate::host::exec::opening;
use crate::host::guard::Guard;
use crate::host::logs::SessionLog;
use crate::host::resume::{RecordedRun, approval_request, check_version};
use crate::host::routing::route;
use crate::host::run::{Ended, ReadyTurn};
use crate::host::updates::Updates;
use crate::host::{CallContext, Classified, Host, HostError};
use crate::invocation;
use crate::log::{ResumeStep, Stage};
use crate::metrics::RunningInvocation;
use crate::ports::TurnStart;
use crate::turn::{Interruption, Turn, TurnFailure};

/// How a try went.
#[derive(Debug, PartialEq)]
pub(super) enum Attempted {
    /// The invocation has done what it was to do.
    Completed,
    /// It has failed, and is over; in words for the operator, why.
    Failed(Outcome, String),
    /// It waits for an approval, or for another operation on the session.
    Waits,
    /// It was interrupted, for this reason: it goes on when it is tried again.
    Again(String),
    /// The node shuts down.
    Stopped,
    /// Another node drives the instance, or it is gone.
    Lost,
}

/// What a try needs of the invocation and of the host.
struct Try<'a> {
    run: &'a Run,
    invocation: Invocation,
    execution: ExecutionId,
    call: &'a CallContext,
    bounds: &'a Bounds,
    running: &'a Arc<RunningInvocation>,
}

/// The session, and the streams of the invocation, as a try finds them.
struct Found<'a> {
    state: &'a SessionState,
    guard: &'a Guard,
    log: SessionLog,
    streams: Vec<StreamState>,
}

/// Why a try did not come to an end of its own.
enum Hindrance {
    Host(HostError),
    Run(RunError),
    Unusable(Unusable),
}

impl Host {
    /// Tries to run an invocation.
    pub(super) async fn attempt(&self, run: &Run, id: InvocationId, running: &Arc<RunningInvocation>) -> Attempted {
        let call = CallContext {
            request_id: env::request_id(&self.parts.env),
            deadline: None,
            cancelled: CancellationToken::new(),
        };
        let bounds = self.bounds(&call);
        let invocation = match self.journal().invocation(run.session(), id).await {
            Ok(Some(invocation)) => invocation,
            Ok(None) => return Attempted::Lost,
            Err(error) => return Hindrance::from(error).into(),
        };
        let execution = invocation::execution(id);
        let attempt = Try { run, invocation, execution, call: &call, bounds: &bounds, running };
        let attempted = self.try_invocation(&attempt).await.unwrap_or_else(|hindrance| {
            if let Hindrance::Host(HostError::Turn(TurnFailure::Diverged(divergence))) = &hindrance {
                tracing::warn!(session = %run.session(), invocation = %id, %divergence, "invocation diverged from its record");
            }
            hindrance.into()
        });
        if let Attempted::Failed(_, reason) = &attempted {
            let method = &attempt.invocation.start.method;
            tracing::info!(session = %run.session(), invocation = %id, method, reason, "invocation has failed");
        }
        attempted
    }

    async fn try_invocation(&self, attempt: &Try<'_>) -> Result<Attempted, Hindrance> {
        let (session, id) = (attempt.run.session(), attempt.invocation.id);
        // A node that has lost the instance must not take the session's fence from the one that has it.
        let queue = self.journal().queue(attempt.run, RunningInvocation::COUNTED).await?;
        if queue.first() != Some(&id) {
            return Ok(Attempted::Lost);
        }
        attempt.running.leads(queue.len());
        let known = self.state(session).await?;
        let guard = self.take(&known).await?;
        let state = self.state(session).await?;
        let log = self.logs.load(&state).await?;
        let stage = log.index.stage(&attempt.execution);
        match stage {
            Stage::Ended => return Ok(Attempted::Completed),
            Stage::Canceled => return Ok(Attempted::Failed(failed(), "turn was canceled".to_owned())),
            Stage::Superseded => return Ok(Attempted::Failed(failed(), "another turn was begun".to_owned())),
            Stage::Absent | Stage::Pending => {}
        }
        let streams = self.journal().streams(session, id).await?;
        if has_failed(&streams) {
            return Ok(Attempted::Failed(failed(), "an earlier attempt had failed".to_owned()));
        }
        let found = Found { state: &state, guard: &guard, log, streams };
        let ended = match stage {
            Stage::Absent => self.begin(attempt, found).await?,
            _ => self.go_on(attempt, found).await?,
        };
        Ok(match ended {
            Ended::Completed => Attempted::Completed,
            Ended::Parked => Attempted::Waits,
        })
    }

    /// Runs the invocation as a new turn.
    async fn begin(&self, attempt: &Try<'_>, found: Found<'_>) -> Result<Ended, Hindrance> {
        let Found { state, guard, log: SessionLog { index, history, .. }, streams } = found;
        index.check_start().map_err(HostError::Log)?;
        let standing = Standing::of(state.uid(), &index);
        // What the turn appends is added to the index in place, if nobody else holds it.
        drop(index);
        self.learn(&[state.harness()]).await?;
        let route = route(self.harnesses(), state.harness(), "")?;
        let admitted = admit(&route, &standing, attempt.bounds).await?;
        let (exchange, first_frame) = self.exchange(attempt, streams)?;
        let start = TurnStart {
            session: state.uid().clone(),
            execution: attempt.execution.clone(),
            history: admitted.history(history),
            inputs: vec![invocation::input(&attempt.invocation.start)],
            config: Vec::new(),
            resume_from_seq: 0,
            request_id: attempt.call.request_id.clone(),
            invocation: Some(first_frame),
        };
        let turn = Turn::live(attempt.execution.clone(), admitted.resumability);
        let events = opening(&start, route.name.clone(), admitted.version);
        let (writer, appended) = self.journal().take_over(state, events).await.map_err(HostError::from)?;
        let ready = ReadyTurn {
            turn,
            start,
            channel: admitted.channel,
            runtime: &*route.harness.runtime,
            standing,
            bounds: attempt.bounds,
            guard,
            writer,
            exchange: Some(exchange),
            appended,
        };
        Ok(self.run_turn(ready, &mut Updates::none()).await?)
    }

    /// Resumes the turn that the invocation is.
    async fn go_on(&self, attempt: &Try<'_>, found: Found<'_>) -> Result<Ended, Hindrance> {
        let Found { state, guard, log: SessionLog { index, history, .. }, streams } = found;
        let plan = index.plan_resume().map_err(HostError::Log)?;
        let standing = Standing::of(state.uid(), &index);
        drop(index);
        let span = match plan.step {
            ResumeStep::Run(span) => span,
            ResumeStep::AwaitDecision(_) | ResumeStep::NothingPending => return Ok(Ended::Parked),
            ResumeStep::RepairRequest { execution, tool_call_id } => {
                let request = approval_request(&execution, tool_call_id);
                self.append_marker(state, request, &mut Updates::none()).await?;
                return Ok(Ended::Parked);
            }
            ResumeStep::Refuse(error) => return Err(HostError::Log(error).into()),
        };
        let route = self.recorded_route(state.harness(), plan.harness.as_deref()).await?;
        let admitted = admit(&route, &standing, attempt.bounds).await?;
        check_version(&plan.harness_version, &admitted.version)?;
        let invoked = Some(self.exchange(attempt, streams)?);
        let run = RecordedRun { state, guard, history, span, route: &route, standing, admitted, invoked };
        Ok(self.run_recorded(run, (attempt.call, attempt.bounds), &mut Updates::none()).await?)
    }

    fn exchange(
        &self,
        attempt: &Try<'_>,
        streams: Vec<StreamState>,
    ) -> Result<(Box<Exchange>, wire::Invocation), Unusable> {
        let news = self.follow(attempt.run.session());
        let Try { run, invocation, running, .. } = attempt;
        let (exchange, parameters) =
            Exchange::open(self.journal(), run, invocation, streams, news, Arc::clone(running))?;
        Ok((exchange, invocation::first_frame(invocation, parameters)))
    }
}

impl<E: Into<HostError>> From<E> for Hindrance {
    fn from(error: E) -> Self {
        Self::Host(error.into())
    }
}

impl From<RunError> for Hindrance {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<Unusable> for Hindrance {
    fn from(error: Unusable) -> Self {
        Self::Unusable(error)
    }
}

impl From<Hindrance> for Attempted {
    fn from(hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Host(error) => error.into(),
            Hindrance::Run(RunError::Lost) => Self::Lost,
            Hindrance::Run(error) => Self::Again(error.to_string()),
            Hindrance::Unusable(error) => {
                tracing::error!(%error, "invocation cannot be read");
                Self::Failed(internal_error(), "it cannot be read".to_owned())
            }
        }
    }
}

impl From<HostError> for Attempted {
    /// What the agent does fails the invocation; whatever else is in the way may not be there at the next try.
    fn from(error: HostError) -> Self {
        match &error {
            HostError::UnknownSession => Self::Lost,
            HostError::Busy => Self::Waits,
            HostError::Draining | HostError::Turn(TurnFailure::Interrupted(Interruption::Shutdown)) => Self::Stopped,
            HostError::Turn(TurnFailure::Harness(_) | TurnFailure::Journal(_) | TurnFailure::Interrupted(_)) => {
                Self::Again(error.kind())
            }
            HostError::Log(_)
            | HostError::Evidence(_)
            | HostError::Unrecordable(_)
            | HostError::Turn(TurnFailure::OutOfStep) => Self::Failed(internal_error(), error.kind()),
            HostError::Turn(_) | HostError::TurnCanceled => Self::Failed(failed(), error.kind()),
            _ => Self::Again(error.kind()),
        }
    }
}
