//! Why a log does not allow an operation.

use journal::Seq;
use thiserror::Error;

/// Why a log does not allow an operation (execution.md §1). Each names the record and the rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// Malformed recorded evidence.
    #[error("log is invalid at seq {seq}: {rule}")]
    Invalid {
        /// The record.
        seq: Seq,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// Recorded evidence that contradicts itself.
    #[error("log diverges at seq {seq}: {rule}")]
    Diverged {
        /// The record.
        seq: Seq,
        /// What differs.
        rule: &'static str,
    },
    /// The last turn was cut between its START and its last INPUT.
    #[error(
        "the turn started at seq {start} has {found} of {expected} inputs; it cannot be resumed, execute a new turn with \
         all inputs"
    )]
    IncompleteInvocation {
        /// Its START.
        start: Seq,
        /// Inputs it should have.
        expected: u64,
        /// Inputs it has.
        found: u64,
    },
    /// The fork cut the turn between a tool call and its result.
    #[error(
        "the tool call at seq {call} was inherited without its result; fork at or after the result, or execute a new turn"
    )]
    InheritedToolIntent {
        /// The TOOL_CALL.
        call: Seq,
    },
    /// The gate belongs to the session that this one was forked from.
    #[error("the gated call at seq {call} was inherited unfinished; execute a new turn")]
    InheritedGate {
        /// The TOOL_CALL.
        call: Seq,
    },
    /// New inputs cannot be taken while a gate is open.
    #[error("the gated call at seq {call} has no result yet; decide and resume it before sending new inputs")]
    ApprovalBlocked {
        /// The TOOL_CALL.
        call: Seq,
    },
    /// A completed turn was recorded on another harness than the one to replay it on.
    #[error("the turn at seq {start} was recorded on harness {recorded:?}")]
    HarnessMismatch {
        /// Its START.
        start: Seq,
        /// The registry name recorded.
        recorded: String,
    },
    /// A completed turn was recorded with another version of the harness.
    #[error("the turn at seq {start} was recorded with harness version {recorded:?}")]
    VersionMismatch {
        /// Its START.
        start: Seq,
        /// The version recorded.
        recorded: String,
    },
}

impl LogError {
    /// The record that it names.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Invalid { seq, .. } | Self::Diverged { seq, .. } => *seq,
            Self::InheritedToolIntent { call } | Self::InheritedGate { call } | Self::ApprovalBlocked { call } => *call,
            Self::IncompleteInvocation { start, .. }
            | Self::HarnessMismatch { start, .. }
            | Self::VersionMismatch { start, .. } => *start,
        }
    }

    /// Whether recorded evidence contradicts itself, which Exec and Resume answer as INTERNAL; everything else is a
    /// failed precondition.
    #[must_use]
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::Diverged { .. })
    }
}
