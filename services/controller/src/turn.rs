//! The turn engine: what a harness asks for, checked, recorded and answered, one effect at a time (execution.md §4–§7, §9).
//!
//! A [`Turn`] is a state machine without I/O: it is given the outcome of one [`Action`] and answers with the next. The
//! host appends START and the inputs before the turn runs; the turn appends its effects and END or ERROR. Every recorded
//! effect precedes the reply that tells the harness of it, and a reply to a live effect equals what a later replay of it
//! would send.
//!
//! A refused append is never retried: the turn ends.

mod cancel;
mod effect;
mod end;
mod event;
mod failure;
mod gate;
mod matching;
mod model;
mod output;
mod park;
mod report;
mod step;
#[cfg(test)]
mod tests;
mod tool;
mod usage;

use std::collections::{HashMap, VecDeque};
use std::mem;

use journal::{ExecutionId, Seq};
use wire::event::Body;
use wire::{ApprovalRef, Error, Event, EventKind, ModelCall, Resumability, ToolCall};

pub use effect::{Effect, Recording};
pub use failure::{Asked, Divergence, Excess, Interruption, TurnFailure};
pub use step::{Action, Input, LostWriter, Refusal, TurnEnd};

pub(crate) use gate::{denied, failed};

use crate::ports::HostFrame;
use gate::Decided;
use park::closed;

/// One run of one turn.
#[derive(Debug)]
pub struct Turn {
    /// The id that the harness was given.
    execution: ExecutionId,
    /// The id on its records: none for a legacy turn.
    recorded_id: ExecutionId,
    mode: Mode,
    resumability: Resumability,
    /// Recorded effects that the harness has not asked for yet.
    recorded: VecDeque<Effect>,
    /// Ids of the tool calls so far, and whether a gated call used them.
    calls: HashMap<String, bool>,
    /// Nothing more may be appended.
    sealed: bool,
    /// Its last record is an ERROR, and that its harness failed again needs no other one.
    failed: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A new turn.
    Live,
    /// Resume: recorded effects are served, what comes after them is live.
    Recover,
    /// Controller replay: nothing is live and nothing is appended.
    Replay,
}

/// What the turn waits for.
#[derive(Debug)]
enum State {
    /// The first action.
    Ready,
    /// An event of the harness.
    Reading,
    /// An append, and what follows it.
    Appending(Then),
    /// A completion, for the request of this id.
    Completing { model_call_id: String },
    /// The result of a mediated call.
    Executing { call_id: String },
    /// The result of an approved call.
    ExecutingApproved { call_id: String, decided: Decided },
    /// A frame was sent; these follow.
    Sending(VecDeque<HostFrame>),
    /// The harness was told to park and has not said that it does.
    Parking(ApprovalRef),
    /// It said so and has not closed.
    Parked(ApprovalRef),
    /// The harness to stop.
    Stopping,
    /// The append of ERROR.
    Failing(TurnFailure),
    /// Nothing.
    Over,
}

/// What follows an append.
#[derive(Debug)]
enum Then {
    Read,
    CallModel(ModelCall),
    CallTool(ToolCall),
    Reply(VecDeque<HostFrame>),
    Park { tool_call_id: String },
    Complete,
}

/// The next action, or why the turn fails.
type Step = Result<Action, TurnFailure>;

impl Turn {
    /// A new turn. `resumability` is the descriptor's.
    #[must_use]
    pub fn live(execution: ExecutionId, resumability: Resumability) -> Self {
        Self::new(execution, Mode::Live, Recording::default(), resumability)
    }

    /// Resume of an interrupted turn. It appends LIFECYCLE RESUME together with END.
    #[must_use]
    pub fn recover(execution: ExecutionId, recording: Recording, resumability: Resumability) -> Self {
        Self::new(execution, Mode::Recover, recording, resumability)
    }

    /// Controller replay of a completed turn: never asks for a model, a tool or an append.
    #[must_use]
    pub fn replay(execution: ExecutionId, recording: Recording) -> Self {
        Self::new(execution, Mode::Replay, recording, Resumability::StatelessReplay)
    }

    fn new(execution: ExecutionId, mode: Mode, recording: Recording, resumability: Resumability) -> Self {
        let recorded_id = if recording.legacy { ExecutionId::default() } else { execution.clone() };
        Self {
            execution,
            recorded_id,
            mode,
            resumability,
            recorded: recording.effects,
            calls: HashMap::new(),
            sealed: false,
            failed: false,
            state: State::Ready,
        }
    }

    /// The same turn, whose last record is an ERROR if `failed`. As long as it records nothing else, a harness that breaks its
    /// stream or cannot be connected is not recorded again: whoever runs the turn tries many times.
    #[must_use]
    pub fn after_error(self, failed: bool) -> Self {
        Self { failed, ..self }
    }

    /// The id on its records; empty for a legacy turn.
    #[must_use]
    pub fn recorded_id(&self) -> &ExecutionId {
        &self.recorded_id
    }

    /// The first action, once the harness is connected.
    pub fn start(&mut self) -> Action {
        self.read()
    }

    /// The action after the previous one had this outcome. A harness that could not be connected is
    /// [`Input::HarnessFailed`] in place of [`start`](Self::start).
    pub fn on(&mut self, input: Input) -> Action {
        let state = mem::replace(&mut self.state, State::Over);
        match (state, input) {
            (State::Failing(_), Input::Refused(Refusal::Lost(lost @ (LostWriter::Conflict | LostWriter::Fenced)))) => {
                Action::Finish(TurnEnd::Lost(lost))
            }
            (State::Failing(failure), _) => Action::Finish(TurnEnd::Failed(failure)),
            (State::Over, _) => Action::Finish(TurnEnd::Failed(TurnFailure::OutOfStep)),
            (State::Appending(then), Input::Appended(first)) => self.appended(then, first),
            (State::Appending(_), Input::Refused(refusal)) => self.refused(refusal),
            // An append that was cut short may have happened.
            (State::Appending(_), _) => Action::Finish(TurnEnd::Lost(LostWriter::Unknown)),
            (State::Stopping, _) => Action::Finish(TurnEnd::Canceled),
            (_, Input::Interrupted(Interruption::Canceled)) => self.stop(),
            (_, Input::Interrupted(Interruption::Dispossessed)) => Action::Finish(TurnEnd::Lost(LostWriter::Fenced)),
            (state, input) => self.step(state, input).unwrap_or_else(|failure| self.fail(failure)),
        }
    }

    fn step(&mut self, state: State, input: Input) -> Step {
        match (state, input) {
            (State::Reading, Input::Event { event, fresh_id }) => self.event(event, fresh_id),
            (State::Reading, Input::Emit(account)) => self.emit(account),
            (State::Reading, Input::Closed) => self.end(),
            (State::Completing { model_call_id }, Input::ModelAnswered(message)) => {
                Ok(self.completed(message, model_call_id))
            }
            (State::Completing { .. }, Input::ModelFailed(text)) => Err(TurnFailure::Model(text)),
            (State::Executing { call_id }, outcome) => self.executed(call_id, outcome),
            (State::ExecutingApproved { call_id, decided }, outcome) => {
                self.executed_approved(call_id, decided, outcome)
            }
            (State::Sending(frames), Input::Sent) => Ok(self.send(frames)),
            (State::Parking(reference), Input::Sent) => Ok(self.parking(reference)),
            (State::Parking(reference), outcome) => self.parked(reference, outcome),
            (State::Parked(reference), outcome) => closed(reference, outcome),
            (_, other) => Err(unexpected(other)),
        }
    }

    /// Goes on after an append whose first record is `first`.
    fn appended(&mut self, then: Then, first: Seq) -> Action {
        match then {
            Then::Read => self.read(),
            Then::CallModel(call) => self.call_model(call),
            Then::CallTool(call) => self.call_tool(call),
            Then::Reply(frames) => self.send(frames),
            Then::Park { tool_call_id } => self.park(tool_call_id, first.next()),
            Then::Complete => Action::Finish(TurnEnd::Completed),
        }
    }

    fn refused(&mut self, refusal: Refusal) -> Action {
        match refusal {
            Refusal::Unrecordable(text) => self.fail(TurnFailure::Unrecordable(text)),
            Refusal::Failed(text) => self.fail(TurnFailure::Journal(text)),
            Refusal::Lost(lost) => Action::Finish(TurnEnd::Lost(lost)),
        }
    }

    /// Ends the turn, with an ERROR record where one is allowed.
    fn fail(&mut self, failure: TurnFailure) -> Action {
        let unrecorded = match failure {
            TurnFailure::NoExecutorForApproved(_) | TurnFailure::OutOfStep => true,
            TurnFailure::Harness(_) => self.failed,
            _ => false,
        };
        if self.sealed || unrecorded || self.mode == Mode::Replay {
            return Action::Finish(TurnEnd::Failed(failure));
        }
        let error = Error { code: 0, description: failure.to_string() };
        self.state = State::Failing(failure);
        Action::Append(vec![self.record(EventKind::EventError, Body::Error(error))])
    }

    fn read(&mut self) -> Action {
        self.state = State::Reading;
        Action::ReadHarness
    }

    /// Sends frames one after the other, then reads on.
    fn send(&mut self, mut frames: VecDeque<HostFrame>) -> Action {
        match frames.pop_front() {
            Some(frame) => {
                self.state = State::Sending(frames);
                Action::Send(frame)
            }
            None => self.read(),
        }
    }

    fn append(&mut self, events: Vec<Event>, then: Then) -> Action {
        self.failed = false;
        self.state = State::Appending(then);
        Action::Append(events)
    }

    /// An event of this turn, in the form in which it is stored.
    fn record(&self, kind: EventKind, body: Body) -> Event {
        let mut event = Event::new(kind, body).of_execution(self.recorded_id.as_str());
        wire::normalise(&mut event);
        event
    }

    fn is_legacy(&self) -> bool {
        self.recorded_id.is_legacy()
    }
}

/// An outcome that ends the turn whatever it waits for, or that it did not ask for.
fn unexpected(outcome: Input) -> TurnFailure {
    match outcome {
        Input::HarnessFailed(text) => TurnFailure::Harness(text),
        Input::Failed(failure) => failure,
        Input::Exceeded(excess) => TurnFailure::Exceeded(excess),
        Input::Interrupted(interruption) => TurnFailure::Interrupted(interruption),
        _ => TurnFailure::OutOfStep,
    }
}
