//! What an operation of the registry can answer instead of a result (registry.md §2, §3).

use journal::{JournalError, RegisterError, RetireError};
use thiserror::Error;
use wire::NotCanonical;
use wire::strict::Unknown;

use crate::ports::Unservable;
use crate::{Classified, ErrorClass};

/// Why an operation failed.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The request names no harness.
    #[error("name is empty: name a harness")]
    EmptyName,
    /// The name cannot be registered.
    #[error("name must be 1 to 63 characters of a-z, 0-9 and -, and neither begin nor end with -")]
    InvalidName,
    /// The spec cannot be registered.
    #[error("spec is invalid: {0}")]
    InvalidSpec(#[from] InvalidSpec),
    /// The name belongs to the configuration of a host.
    #[error("harness name {0:?} belongs to the configuration of a host")]
    NameTaken(String),
    /// The name has another spec.
    #[error("harness {0:?} is registered with another spec; register the new one under another name")]
    OtherSpec(String),
    /// This host could not run it.
    #[error("harness cannot be served by this host: {0}")]
    Unservable(Unservable),
    /// There is no such harness.
    #[error("no harness is named {0:?}")]
    NotFound(String),
    /// Harnesses of the configuration cannot be retired.
    #[error("harness {0:?} comes from the configuration of this host and cannot be retired")]
    Static(String),
    /// The reason is too long.
    #[error("reason of {size} bytes exceeds the limit of {limit}")]
    Reason {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A page of less than nothing.
    #[error("page_size is negative; 0 stands for the default")]
    PageSize,
    /// The page token is not one of this host's.
    #[error("page_token is malformed; use next_page_token of the previous page")]
    PageToken,
    /// Whether the write happened is not known.
    #[error("outcome of the write is unknown; repeat the call to find out")]
    OutcomeUnknown,
    /// The journal failed, for this reason.
    #[error("journal failed: {0}")]
    Journal(JournalError),
}

/// What is wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidSpec {
    /// There is none.
    #[error("it is missing")]
    Missing,
    /// It says something that this version does not know.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// It says nowhere to run.
    #[error("it has no placement: set remote or substrate")]
    NoPlacement,
    /// A field that must say something does not.
    #[error("{0} is not set")]
    Empty(&'static str),
    /// It is too large.
    #[error("its canonical form of {size} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It has no canonical form.
    #[error("it has no canonical form: {0}")]
    NotCanonical(#[from] NotCanonical),
    /// The stored text is no spec.
    #[error("{0}")]
    Text(String),
}

impl Classified for RegistryError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::EmptyName
            | Self::InvalidName
            | Self::InvalidSpec(_)
            | Self::Reason { .. }
            | Self::PageSize
            | Self::PageToken => ErrorClass::InvalidArgument,
            Self::NameTaken(_) | Self::OtherSpec(_) => ErrorClass::AlreadyExists,
            Self::Unservable(_) | Self::Static(_) => ErrorClass::FailedPrecondition,
            Self::NotFound(_) => ErrorClass::NotFound,
            Self::OutcomeUnknown | Self::Journal(_) => ErrorClass::Internal,
        }
    }
}

impl From<JournalError> for RegistryError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<RegisterError> for RegistryError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Reserved(name) => Self::NameTaken(name),
            RegisterError::OtherSpec(name) => Self::OtherSpec(name),
            RegisterError::TooLarge(error) => {
                Self::InvalidSpec(InvalidSpec::TooLarge { size: error.size, limit: error.limit })
            }
            RegisterError::Unknown => Self::OutcomeUnknown,
            RegisterError::Journal(error) => Self::Journal(error),
        }
    }
}

impl From<RetireError> for RegistryError {
    fn from(error: RetireError) -> Self {
        match error {
            RetireError::NotRegistered(name) => Self::NotFound(name),
            RetireError::TooLarge(error) => Self::Reason { size: error.size, limit: error.limit },
            RetireError::Unknown => Self::OutcomeUnknown,
            RetireError::Journal(error) => Self::Journal(error),
        }
    }
}
