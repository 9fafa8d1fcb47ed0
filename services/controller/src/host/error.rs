//! What an operation of the host can answer instead of a result (execution.md §1).

use journal::{AppendError, DeleteError, JournalError, Seq};
use thiserror::Error;

use crate::log::{LogError, Uncancelable, Undecidable};
use crate::ports::RuntimeFailure;
use crate::turn::{Interruption, TurnFailure};

/// Why an operation failed. [`class`](Classified::class) says how a caller is told.
#[derive(Debug, Error)]
pub enum HostError {
    /// The request names no session.
    #[error("session is empty: name the session uid")]
    EmptySession,
    /// No session has the uid of the request.
    #[error("no session has this uid")]
    UnknownSession,
    /// The harness named by the request or stored with the session is not served by this host.
    #[error("harness {0:?} is not served by this host")]
    UnknownHarness(String),
    /// No harness of this host offers an agent type of this name.
    #[error("no harness of this host offers agent type {0:?}")]
    UnknownAgentType(String),
    /// The harness was retired: it takes no new sessions.
    #[error("harness {0:?} takes no new sessions")]
    HarnessClosed(String),
    /// The harness is configured here and registered by another host, so which of the two is meant is not known.
    #[error("harness {0:?} is configured on this host and registered as well; rename it in the configuration")]
    HarnessCollision(String),
    /// This host knows the registration but cannot serve it.
    #[error("harness {name:?} cannot be served by this host: {reason}")]
    HarnessIsolated {
        /// The registry name.
        name: String,
        /// Free text for the operator.
        reason: String,
    },
    /// A turn may not run on another harness than its session's where either is registered.
    #[error("session is pinned to harness {stored:?}; harness {requested:?} cannot run its turns")]
    HarnessPinned {
        /// The session's harness.
        stored: String,
        /// The harness that was asked for, or that is recorded.
        requested: String,
    },
    /// A session whose harness lives in memory cannot be run by one that replays.
    #[error("session runs on a memory harness; harness {0:?} replays")]
    HarnessStateless(String),
    /// The interrupted turn is an invocation whose streams the session does not have: it is a fork, or was imported.
    #[error(
        "the interrupted turn is an invocation whose streams are not in this session; cancel it, or begin a new turn"
    )]
    InvocationOfAnother,
    /// The harness takes no turns but invocations.
    #[error("harness {0:?} runs no turns but invocations: invoke a method of its agents instead")]
    OnlyInvocations(String),
    /// The interrupted turn was recorded on a harness that this host does not serve.
    #[error("the interrupted turn runs on harness {0:?}, which is not served by this host")]
    RecordedHarnessNotServed(String),
    /// The harness needs what the placement does not offer.
    #[error("harness {0:?} needs memory snapshots, which its placement does not offer")]
    Unplaceable(String),
    /// A harness whose memory is kept describes itself otherwise than it is configured.
    #[error("harness {0:?} does not describe its resumability as it is configured")]
    ResumabilityMismatch(String),
    /// Something else serves the harness's address.
    #[error("harness {name:?} describes itself as {served:?}, expected {expected:?}")]
    DescriptorMismatch {
        /// The registry name.
        name: String,
        /// The id it answered.
        served: String,
        /// The id it should have.
        expected: String,
    },
    /// The turn was recorded with another version of the harness.
    #[error("the turn was recorded with harness version {recorded:?}, served is {served:?}")]
    VersionMismatch {
        /// Version in the journal.
        recorded: String,
        /// Version served now.
        served: String,
    },
    /// The harness cannot be reached, or did not describe itself in time.
    #[error("harness {name:?} is unavailable: {reason}")]
    HarnessUnavailable {
        /// The registry name.
        name: String,
        /// What went wrong.
        reason: String,
    },
    /// The harness answered Describe with an error.
    #[error("harness {name:?} failed to describe itself: {reason}")]
    DescribeRefused {
        /// The registry name.
        name: String,
        /// What it answered.
        reason: String,
    },
    /// The caller's deadline passed before the turn began.
    #[error("deadline passed before the turn began")]
    DeadlineExceeded,
    /// The caller went away before the turn began.
    #[error("call was cancelled before the turn began")]
    Cancelled,
    /// The turn was canceled while it ran.
    #[error("turn was canceled; it has ended for good")]
    TurnCanceled,
    /// There is nothing to cancel.
    #[error(transparent)]
    Uncancelable(Uncancelable),
    /// The id that the caller chose for its turn has not the form of one.
    #[error("execution_id is not 16 lowercase hex digits")]
    InvalidExecutionId,
    /// The session has a turn with the id that the caller chose.
    #[error("session has a turn with this execution_id already")]
    TurnExists,
    /// Another operation runs on the session.
    #[error("session is busy with another operation; try again when it has ended")]
    Busy,
    /// `expected_last_seq` is not the head, or another writer was faster.
    #[error("head of the session has moved; read it again and retry")]
    Conflict,
    /// Another node has taken the session over.
    #[error("session was taken over by another writer")]
    Fenced,
    /// The turns that run have logs too large for that of this session beside them.
    #[error("node has no memory for the log of this session beside those in use; retry later, or at another node")]
    NoRoom,
    /// The node is shutting down.
    #[error("node is draining; retry at another node")]
    Draining,
    /// The log does not allow the operation.
    #[error(transparent)]
    Log(LogError),
    /// The log does not allow a suspension or a decision: there, diverged evidence is a precondition too.
    #[error(transparent)]
    Evidence(LogError),
    /// The turn ran and failed; it stays recoverable.
    #[error(transparent)]
    Turn(#[from] TurnFailure),
    /// The page token is not one of this host's.
    #[error("page_token is malformed; use next_page_token of the previous page")]
    PageToken,
    /// A fork request that cannot be met as it is.
    #[error(transparent)]
    Fork(#[from] InvalidFork),
    /// What the request asks to record has no canonical form, or is too large.
    #[error("{0}")]
    Unrecordable(String),
    /// An approval decision that cannot be taken.
    #[error(transparent)]
    Decision(#[from] InvalidDecision),
    /// The operation is declared but not offered.
    #[error("{0} is not supported by this host")]
    Unsupported(&'static str),
    /// The runtime of the harness failed; the cause is in the log, not in the answer.
    #[error("compute of the session failed")]
    Runtime(#[from] RuntimeFailure),
    /// The journal failed. What the cause says is for everybody: what is to be mended, and no path and no payload.
    #[error("journal failed: {0}")]
    Journal(JournalError),
    /// Whether the write happened is not known; read the session to find out.
    #[error("outcome of the write is unknown; read the session and retry")]
    OutcomeUnknown,
}

/// Why a fork request cannot be met (execution.md §11).
#[derive(Debug, Error)]
pub enum InvalidFork {
    /// Children cannot have principals of their own.
    #[error("ForkRequest.identity is unsupported: per-child principals are not enforced")]
    Identity,
    /// More children than one fork makes, or fewer than none.
    #[error("count {0} is not in 1..=128")]
    Count(i32),
    /// Names and children do not match.
    #[error("child_names has {names} entries for {count} children; give none or one each")]
    Names {
        /// Names given.
        names: usize,
        /// Children asked for.
        count: usize,
    },
    /// A harness that lives in memory is not what it was at an earlier record.
    #[error("at_seq {at} is not the head {head}: a memory harness forks at its head only")]
    NotHead {
        /// The position asked for.
        at: Seq,
        /// The parent's head.
        head: Seq,
    },
    /// The snapshot is of use to the parent alone.
    #[error("the snapshot of the session has no external handle, so its compute cannot be cloned")]
    NoExternalHandle,
    /// The parent has no such record yet.
    #[error("at_seq {at} is beyond the head {head}")]
    BeyondHead {
        /// The position asked for.
        at: i64,
        /// The parent's head.
        head: Seq,
    },
}

/// Why an approval decision cannot be taken (execution.md §9.4).
#[derive(Debug, Error)]
pub enum InvalidDecision {
    /// A field of the tuple is missing.
    #[error("{0} is missing: name execution_id, tool_call_id, a positive request_seq, and set approved")]
    Missing(&'static str),
    /// The gate is not there, is inherited, or is no longer the pending one.
    #[error(transparent)]
    Undecidable(Undecidable),
    /// Another decision is recorded.
    #[error("the approval has been decided otherwise")]
    DecidedOtherwise,
}

/// The closed set of answers, named as gRPC names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are gRPC's")]
pub enum ErrorClass {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    FailedPrecondition,
    Aborted,
    Unavailable,
    DeadlineExceeded,
    Cancelled,
    Unimplemented,
    Internal,
}

/// An error that a caller is told of.
pub trait Classified: std::error::Error {
    /// How a caller is told.
    fn class(&self) -> ErrorClass;

    /// What the log tells of it: the kind of error, and never the words of a harness, a model or a tool, which may quote
    /// what they were given.
    fn kind(&self) -> String
    where
        Self: Sized,
    {
        self.to_string()
    }
}

impl Classified for HostError {
    fn kind(&self) -> String {
        match self {
            Self::Turn(failure) => failure.kind(),
            Self::DescribeRefused { name, .. } => format!("harness {name:?} failed to describe itself"),
            other => other.to_string(),
        }
    }

    fn class(&self) -> ErrorClass {
        use ErrorClass::*;
        match self {
            Self::EmptySession
            | Self::UnknownHarness(_)
            | Self::InvalidExecutionId
            | Self::PageToken
            | Self::Fork(
                InvalidFork::Identity
                | InvalidFork::Count(_)
                | InvalidFork::Names { .. }
                | InvalidFork::BeyondHead { .. },
            )
            | Self::Unrecordable(_)
            | Self::Decision(InvalidDecision::Missing(_)) => InvalidArgument,
            Self::UnknownSession | Self::UnknownAgentType(_) => NotFound,
            Self::TurnExists => AlreadyExists,
            Self::HarnessClosed(_)
            | Self::HarnessCollision(_)
            | Self::HarnessIsolated { .. }
            | Self::HarnessPinned { .. }
            | Self::HarnessStateless(_)
            | Self::InvocationOfAnother
            | Self::OnlyInvocations(_)
            | Self::RecordedHarnessNotServed(_)
            | Self::Unplaceable(_)
            | Self::ResumabilityMismatch(_)
            | Self::DescriptorMismatch { .. }
            | Self::VersionMismatch { .. }
            | Self::Evidence(_)
            | Self::Fork(InvalidFork::NotHead { .. } | InvalidFork::NoExternalHandle)
            | Self::Uncancelable(_)
            | Self::Decision(InvalidDecision::Undecidable(_) | InvalidDecision::DecidedOtherwise) => FailedPrecondition,
            Self::Busy | Self::Conflict | Self::Fenced => Aborted,
            Self::HarnessUnavailable { .. }
            | Self::NoRoom
            | Self::Draining
            | Self::Turn(TurnFailure::Interrupted(Interruption::Shutdown)) => Unavailable,
            Self::DeadlineExceeded => DeadlineExceeded,
            Self::Cancelled | Self::TurnCanceled => Cancelled,
            Self::Unsupported(_) => Unimplemented,
            Self::Log(error) if error.is_divergence() => Internal,
            Self::Log(_) => FailedPrecondition,
            Self::Turn(failure) if failure.is_precondition() => FailedPrecondition,
            Self::Turn(_)
            | Self::DescribeRefused { .. }
            | Self::Runtime(_)
            | Self::Journal(_)
            | Self::OutcomeUnknown => Internal,
        }
    }
}

impl From<JournalError> for HostError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Deleted => Self::UnknownSession,
            error => Self::Journal(error),
        }
    }
}

impl From<DeleteError> for HostError {
    fn from(error: DeleteError) -> Self {
        match error {
            DeleteError::NoSession => Self::UnknownSession,
            DeleteError::TooLarge(error) => Self::Unrecordable(error.to_string()),
            DeleteError::Unknown => Self::OutcomeUnknown,
            DeleteError::Journal(error) => error.into(),
        }
    }
}

impl From<AppendError> for HostError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::NoSession => Self::UnknownSession,
            AppendError::Conflict => Self::Conflict,
            AppendError::Fenced => Self::Fenced,
            AppendError::Unknown => Self::OutcomeUnknown,
            AppendError::Journal(error) => Self::Journal(error),
            unrecordable => Self::Unrecordable(unrecordable.to_string()),
        }
    }
}
