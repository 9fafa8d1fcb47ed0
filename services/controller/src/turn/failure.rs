//! Why a turn failed. The host maps the classes to codes (execution.md §1).

use std::time::Duration;

use journal::invocations::StreamId;
use stream_session::Refusal;
use thiserror::Error;

/// Why a turn failed after it began. It stays in the journal as interrupted and can be recovered. The texts name what is
/// wrong, never what was sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TurnFailure {
    /// The harness does something else than what is recorded.
    #[error("turn diverged from its record: {0}")]
    Diverged(Divergence),
    /// The recorded harness handled a model error that this one cannot be told again.
    #[error("recorded completion missing")]
    CompletionMissing,
    /// The recorded harness handled a tool error that this one cannot be told again.
    #[error("recorded tool call has no result")]
    ResultMissing,
    /// The harness broke its stream, reported an error or could not be connected.
    #[error("harness failed: {0}")]
    Harness(String),
    /// The same, and it would do that again whenever this turn is run.
    #[error("harness failed: {0}")]
    HarnessUnusable(String),
    /// The harness took more of its host than one turn may.
    #[error("harness exceeded a limit of the host: {0}")]
    Exceeded(Excess),
    /// The harness ended the turn with a state other than `COMPLETED`.
    #[error("harness ended the turn with state {state:?}: {description}")]
    HarnessEnded {
        /// The state it gave.
        state: String,
        /// Its own account of the error.
        description: String,
    },
    /// The harness sent what it must not send (execution.md §6.1).
    #[error("harness broke the protocol: {0}")]
    Violation(&'static str),
    /// The harness sent a value that is none of the announced type.
    #[error("harness sent a value that is none of its type: {0}")]
    Value(#[from] Refusal),
    /// The model request cannot be made.
    #[error("model request is invalid: {0}")]
    InvalidModelCall(String),
    /// The model provider failed.
    #[error("model failed: {0}")]
    Model(String),
    /// A tool call has no idempotency key.
    #[error("tool call has no idempotency_key")]
    MissingIdempotencyKey,
    /// A tool call asks for a mediation that a host does not do.
    #[error("tool call has mediation {0}; a host runs CONTROLLER_MEDIATED and REQUIRES_APPROVAL calls")]
    RefusedMediation(&'static str),
    /// A mediated tool call, and no executor is configured here for its tool. The name is as long as the harness likes.
    #[error("no executor is configured for tool {0:.100}")]
    NoToolExecutor(String),
    /// The tool executor failed without a result.
    #[error("tool executor failed: {0}")]
    Tool(String),
    /// The harness cannot park at a gate: it does not resume by replay.
    #[error("approval is unavailable: the harness does not resume by stateless replay")]
    ApprovalUnavailable,
    /// A gated call, or one that collides with a gated call, that must not be made.
    #[error("tool call cannot be gated: {0}")]
    InvalidApprovalCall(&'static str),
    /// The harness reported a result that only the host may record.
    #[error("harness reported the receipt of a gated call")]
    ApprovalReceiptReport,
    /// A call was approved, and no executor is configured here for its tool; the decision stays usable.
    #[error("no executor is configured for tool {0:.100} of the approved call")]
    NoExecutorForApproved(String),
    /// The harness did not park as it was told; the gate stays open.
    #[error("harness did not park: {0}")]
    ParkFailed(&'static str),
    /// What was to be recorded has no canonical form, or is too large.
    #[error("event cannot be recorded: {0}")]
    Unrecordable(String),
    /// The journal failed, and nothing was recorded.
    #[error("journal failed: {0}")]
    Journal(String),
    /// The turn was stopped from outside.
    #[error("turn was interrupted: {0}")]
    Interrupted(Interruption),
    /// The driver answered an action with the result of another one.
    #[error("turn engine was driven out of step")]
    OutOfStep,
}

/// What a harness took too much of. The texts name the setting of the node that bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Excess {
    /// It let the host wait for its next event.
    #[error("it sent nothing for {0:?}; limits.turn_idle_timeout allows no more")]
    Silent(Duration),
    /// It let the host wait for it to take a frame.
    #[error("it read nothing for {0:?}; limits.turn_idle_timeout allows no more")]
    Unread(Duration),
    /// It sent more events than this.
    #[error("it sent more than {0} events; limits.max_turn_events allows no more")]
    Events(usize),
}

/// What does not match the record (execution.md §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Divergence {
    /// The next recorded effect is of another kind.
    #[error("another effect is recorded where the harness asks for {0}")]
    Kind(Asked),
    /// It is of the same kind and differs.
    #[error("the recorded {0} differs from what the harness asks for")]
    Content(Asked),
    /// A completed turn has no effect left for this.
    #[error("nothing is recorded where the harness asks for {0}")]
    Exhausted(Asked),
    /// The harness ended before it had asked for every recorded effect.
    #[error("the harness ended with recorded effects left over")]
    LeftOver,
    /// A stream of an invocation does not go on as it did.
    #[error("the harness sends something else on stream {0} than is recorded")]
    Stream(StreamId),
}

/// What a harness can ask for or report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A completion.
    Model,
    /// To record output of its own.
    Output,
    /// To record usage.
    Usage,
    /// A tool call, run by the host.
    Tool,
    /// To record the result of a tool it ran itself.
    Report,
    /// A tool call that needs an approval.
    Gate,
    /// To record what became of an invocation: the host asks for it.
    Account,
    /// To record what a method returned.
    Return,
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Model => "model call",
            Self::Output => "output",
            Self::Usage => "usage",
            Self::Tool => "tool call",
            Self::Report => "tool report",
            Self::Gate => "gated tool call",
            Self::Account => "account of an invocation",
            Self::Return => "return of a method",
        })
    }
}

/// What stopped a turn from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Interruption {
    /// The caller's deadline passed.
    #[error("deadline passed")]
    Deadline,
    /// The caller went away.
    #[error("caller went away")]
    ClientGone,
    /// The node shuts down.
    #[error("node is shutting down")]
    Shutdown,
    /// It is to end for good: unlike the others this leaves nothing to be resumed.
    #[error("turn was canceled")]
    Canceled,
    /// Another writer has been minted for its session: like a refused append this records nothing.
    #[error("session has another owner")]
    Dispossessed,
}

impl TurnFailure {
    /// The failure without the words of harness, model or tool.
    #[must_use]
    pub fn kind(&self) -> String {
        let kind = match self {
            Self::Harness(_) | Self::HarnessUnusable(_) => "harness failed",
            Self::HarnessEnded { .. } => "harness ended the turn as failed",
            Self::Model(_) => "model failed",
            Self::InvalidModelCall(_) => "model request is invalid",
            Self::Tool(_) => "tool executor failed",
            Self::RefusedMediation(_) | Self::NoToolExecutor(_) | Self::NoExecutorForApproved(_) => {
                "tool call cannot be run"
            }
            other => return other.to_string(),
        };
        kind.to_owned()
    }

    /// A word for it, from a small set: what it is counted under.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Diverged(_) | Self::CompletionMissing | Self::ResultMissing => "diverged",
            Self::Harness(_) | Self::HarnessUnusable(_) | Self::HarnessEnded { .. } => "harness",
            Self::Exceeded(_) => "limit",
            Self::Violation(_)
            | Self::Value(_)
            | Self::InvalidModelCall(_)
            | Self::MissingIdempotencyKey
            | Self::RefusedMediation(_)
            | Self::InvalidApprovalCall(_)
            | Self::ApprovalReceiptReport => "violation",
            Self::Model(_) => "model",
            Self::NoToolExecutor(_) | Self::NoExecutorForApproved(_) => "no_tool_executor",
            Self::Tool(_) => "tool",
            Self::ApprovalUnavailable | Self::ParkFailed(_) => "park",
            Self::Unrecordable(_) => "unrecordable",
            Self::Journal(_) => "journal",
            Self::Interrupted(Interruption::Deadline) => "deadline",
            Self::Interrupted(Interruption::ClientGone) => "client_gone",
            Self::Interrupted(Interruption::Shutdown) => "shutdown",
            Self::Interrupted(Interruption::Canceled) => "canceled",
            Self::Interrupted(Interruption::Dispossessed) => "dispossessed",
            Self::OutOfStep => "internal",
        }
    }

    /// Whether what is missing is on the caller's or the operator's side: FAILED_PRECONDITION instead of INTERNAL.
    #[must_use]
    pub fn is_precondition(&self) -> bool {
        matches!(
            self,
            Self::ApprovalUnavailable
                | Self::InvalidApprovalCall(_)
                | Self::ApprovalReceiptReport
                | Self::NoExecutorForApproved(_)
        )
    }
}
