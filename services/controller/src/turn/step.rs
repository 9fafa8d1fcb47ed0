//! What a turn asks for and what it is answered.

use journal::Seq;
use wire::{ApprovalRef, Event, Message, ModelCall, ToolCall, ToolResult};

use super::{Excess, Interruption, TurnFailure};
use crate::ports::HostFrame;

/// What the driver must do next. Exactly one action is outstanding at a time; its outcome is given to
/// [`Turn::on`](super::Turn::on).
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Read the next event of the harness. Answers: [`Input::Event`], [`Input::Closed`], and [`Input::Emit`] if there is
    /// something of the host's own to record instead.
    ReadHarness,
    /// As [`ReadHarness`](Self::ReadHarness), but the harness was told to park and has only to say so: the driver bounds
    /// this wait and answers [`Input::HarnessFailed`] when the bound is reached.
    ReadParked,
    /// Send a frame. Answer: [`Input::Sent`].
    Send(HostFrame),
    /// Append these events in one transaction. Never cut short. Answers: [`Input::Appended`], [`Input::Refused`].
    Append(Vec<Event>),
    /// Complete a model request; its MODEL_CALL is recorded. Answers: [`Input::ModelAnswered`], [`Input::ModelFailed`].
    CallModel(ModelCall),
    /// Run a tool call; its TOOL_CALL is recorded. Answers: [`Input::ToolAnswered`], [`Input::ToolFailed`],
    /// [`Input::NoToolExecutor`].
    CallTool(ToolCall),
    /// Ask the harness to stop, and wait until it has or a bound is reached; what it still says is dropped. Answer:
    /// [`Input::Stopped`].
    Stop,
    /// The turn is over: drop the connection, which cancels the harness's stream.
    Finish(TurnEnd),
}

/// The outcome of an action.
#[derive(Clone, Debug)]
pub enum Input {
    /// The harness sent an event.
    Event {
        /// As it came.
        event: Event,
        /// A fresh host id, used if this turns into a recorded MODEL_CALL (journal.md §6).
        fresh_id: String,
    },
    /// The host's own account of an invocation, to be recorded as it is.
    Emit(Message),
    /// The turn fails by something that concerns the driver alone, such as the streams of an invocation.
    Failed(TurnFailure),
    /// The harness ended its stream well.
    Closed,
    /// Reading, sending or connecting failed. The text carries no payload.
    HarnessFailed(String),
    /// Reading or sending took more than the harness may take of its host.
    Exceeded(Excess),
    /// The frame was sent.
    Sent,
    /// The events were appended; the first one has this seq.
    Appended(Seq),
    /// The events were not appended, or perhaps were.
    Refused(Refusal),
    /// The provider's complete message.
    ModelAnswered(Message),
    /// The provider failed. The text carries no payload.
    ModelFailed(String),
    /// The executor's result.
    ToolAnswered(ToolResult),
    /// The executor failed without a result.
    ToolFailed(String),
    /// No executor is configured on this host for the tool of this name.
    NoToolExecutor(String),
    /// The turn must stop. Answers any action but [`Action::Append`], [`Action::Stop`] and [`Action::Finish`].
    Interrupted(Interruption),
    /// The harness has stopped, or was given up.
    Stopped,
}

/// Why an append was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing more may be appended by this writer.
    Lost(LostWriter),
    /// An event has no canonical form or is too large. Nothing was recorded.
    Unrecordable(String),
    /// The journal failed, and nothing was recorded.
    Failed(String),
}

/// Why a writer may not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWriter {
    /// The head has moved.
    Conflict,
    /// Another writer has taken the session over.
    Fenced,
    /// Its last events may or may not be in the journal.
    Unknown,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// Well; END is recorded (and LIFECYCLE RESUME, if it was a recovery).
    Completed,
    /// At an undecided gate: the harness has parked and closed. The host goes on with execution.md §9.2 step 3.
    Parked(ApprovalRef),
    /// On somebody's word, for good: the harness was stopped. The host records what closes the turn.
    Canceled,
    /// With an error; ERROR is recorded where that is allowed.
    Failed(TurnFailure),
    /// The writer lost the session, or does not know what it wrote. Nothing more was appended.
    Lost(LostWriter),
}
