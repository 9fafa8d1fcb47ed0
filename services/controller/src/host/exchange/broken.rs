//! What ends an exchange before its turn has ended.

use journal::JournalError;
use journal::invocations::RunError;
use stream_session::Refusal;

use crate::agents::UnusableGraph;
use crate::turn::{Input, Interruption, TurnFailure};

/// Why an exchange cannot go on.
#[derive(Debug)]
pub(in crate::host) enum Broken {
    /// The turn fails.
    Failed(TurnFailure),
    /// Another node drives the instance.
    Lost,
}

/// An invocation that is stored with schemas or values that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(in crate::host) enum Unusable {
    #[error("schema of an invocation: {0}")]
    Schema(#[from] UnusableGraph),
    #[error("value of an invocation: {0}")]
    Value(#[from] Refusal),
}

impl From<TurnFailure> for Broken {
    fn from(failure: TurnFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Broken {
    fn from(refusal: Refusal) -> Self {
        Self::Failed(refusal.into())
    }
}

impl From<JournalError> for Broken {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Deleted => Self::Lost,
            error => Self::Failed(TurnFailure::Journal(error.to_string())),
        }
    }
}

impl From<RunError> for Broken {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Lost | RunError::Over => Self::Lost,
            RunError::TooManyStreams => Self::Failed(TurnFailure::Violation("it introduced too many streams")),
            RunError::TooLarge(error) => Self::Failed(TurnFailure::Unrecordable(error.to_string())),
            RunError::Journal(error) => error.into(),
            // The next run finds out what is there.
            error @ (RunError::Unknown | RunError::Fault(..)) => Self::Failed(TurnFailure::Journal(error.to_string())),
        }
    }
}

impl From<Broken> for Input {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Failed(failure) => Self::Failed(failure),
            Broken::Lost => Self::Interrupted(Interruption::Dispossessed),
        }
    }
}
