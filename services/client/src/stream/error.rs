//! What can go wrong.

use std::io;

use stream_session::{ErrorCode, Refusal};
use thiserror::Error;

pub use stream_session::client::WriteError as Unwritable;

/// Why a session does not go on here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The server refused, or one side broke a rule of the protocol; or no server could be reached for five minutes.
    #[error(transparent)]
    Refused(Refusal),
    /// Somebody else has taken the session over.
    #[error("somebody else has taken the session over")]
    Revoked,
    /// The checkpoint could not be written: nothing was sent or given to the application after that.
    #[error("the checkpoint could not be written: {0}")]
    Checkpoint(String),
}

impl Error {
    /// The protocol's code, where there is one.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused(refusal) => Some(refusal.code),
            Self::Revoked | Self::Checkpoint(_) => None,
        }
    }

    pub(super) fn checkpoint(error: &io::Error) -> Self {
        Self::Checkpoint(error.to_string())
    }
}

/// Why an item was not written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The input was ended or cancelled, here or by the agent, or the session is over.
    #[error("the input takes no more items")]
    Closed,
    /// The item is not of the input's type.
    #[error(transparent)]
    Invalid(Refusal),
}

/// Why a session cannot be resumed from a checkpoint; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResumeError {
    /// The checkpoint is of another call.
    #[error("the checkpoint is of another {0}")]
    Other(&'static str),
    /// A start that was not answered cannot be taken over.
    #[error("the checkpoint has no session to take over yet; resume it")]
    NoSession,
    /// An attach of the other operation was not answered.
    #[error("the checkpoint has another operation in flight; repeat that one")]
    InFlight,
    /// What was sent is not what the checkpoint would send.
    #[error("the checkpoint contradicts itself")]
    Contradictory,
    /// The server does not tell several inputs apart for a process that did not begin them.
    #[error("an invocation with several inputs cannot be resumed once it was accepted")]
    SeveralInputs,
    /// A message in the checkpoint cannot be used.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Why a method of an agent type, as it is described, cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadMethod {
    /// The agent type has none of that name.
    #[error("{agent_type} has no method {method:?}; it has {known}")]
    Unknown {
        /// The agent type.
        agent_type: String,
        /// What was asked for.
        method: String,
        /// The names that it has, separated by commas.
        known: String,
    },
    /// A schema cannot be read.
    #[error("the {what} schema of {method} cannot be used: {refusal}")]
    Schema {
        /// Which.
        what: &'static str,
        /// Of which method.
        method: String,
        /// Why.
        refusal: Refusal,
    },
}
