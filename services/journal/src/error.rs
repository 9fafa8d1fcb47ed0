//! What can go wrong, one enum per operation.

use store::{LimitExceeded, StoreError, TransactError};
use thiserror::Error;

use crate::SessionUid;
use crate::import::UnfitRecord;

/// A row cannot be read. Something other than this journal wrote it, or a newer version did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a {what} row of the journal cannot be decoded")]
pub struct Corrupt {
    /// The kind of row.
    pub what: &'static str,
}

/// Something does not fit into the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{what} of {size} bytes exceeds the journal's limit of {limit}")]
pub struct TooLarge {
    /// What is too large.
    pub what: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// The limit in bytes.
    pub limit: usize,
}

impl From<LimitExceeded> for TooLarge {
    fn from(LimitExceeded { what, size, limit }: LimitExceeded) -> Self {
        Self { what, size, limit }
    }
}

/// The journal could not be read or written, whatever was asked of it.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row cannot be read.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A row of this session, or of what it inherits, cannot be read.
    #[error("session {0}: {1}")]
    CorruptSession(SessionUid, Corrupt),
    /// The session was deleted while its records were read.
    #[error("session was deleted while it was read")]
    Deleted,
    /// Other transactions were always faster; nothing was written.
    #[error("journal is contended: gave up after {attempts} attempts")]
    Contended {
        /// Attempts made.
        attempts: u32,
    },
}

/// A journal could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A later version has written to it what this one does not understand.
    #[error(
        "journal has format {version} and needs a host that knows format {minimum}; this one knows up to {supported}: use a \
         newer version"
    )]
    TooNew {
        /// The journal's format.
        version: u32,
        /// The oldest one that a host must know.
        minimum: u32,
        /// The latest one that this version knows.
        supported: u32,
    },
    /// No version that this one succeeds has brought it up to date.
    #[error(
        "journal has format {version}, this version reads format {supported} and later: use an older version first"
    )]
    TooOld {
        /// The journal's format.
        version: u32,
        /// The oldest one supported.
        supported: u32,
    },
    /// It could not be read or written.
    #[error(transparent)]
    Journal(JournalError),
}

/// A session could not be created.
#[derive(Debug, Error)]
pub enum CreateError {
    /// The harness is static here, but its name is registered (registry.md §4).
    #[error("harness {0} is configured here and registered as well")]
    HarnessCollision(String),
    /// The harness has no registration.
    #[error("harness {0} is not registered")]
    HarnessNotRegistered(String),
    /// The harness was retired.
    #[error("harness {0} is retired and takes no new sessions")]
    HarnessRetired(String),
    /// Its metadata is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The session may or may not exist.
    #[error("it is not known whether the session was created")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// Records could not be appended, or the right to append could not be gained.
#[derive(Debug, Error)]
pub enum AppendError {
    /// There is no such session.
    #[error("no such session")]
    NoSession,
    /// The head is not where the writer expects it: somebody else has appended.
    #[error("session has moved on")]
    Conflict,
    /// Somebody else has taken the session over.
    #[error("session was taken over by another writer")]
    Fenced,
    /// An event has no canonical form; nothing was written.
    #[error("event cannot be recorded: {0}")]
    NotCanonical(#[from] wire::NotCanonical),
    /// The events do not fit into one transaction, or an id not into a row; nothing was written.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The events may or may not have been appended. The log tells.
    #[error("it is not known whether the append succeeded")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// A session could not be forked; no child exists.
#[derive(Debug, Error)]
pub enum ForkError {
    /// There is no such parent.
    #[error("no such session")]
    NoSession,
    /// The parent has no such record yet.
    #[error("fork point lies beyond the head of the session")]
    BeyondHead,
    /// A child's metadata, or all children together, are too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The children may or may not exist.
    #[error("it is not known whether the fork succeeded")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// A session could not be deleted.
#[derive(Debug, Error)]
pub enum DeleteError {
    /// There is no such session, and there was none.
    #[error("no such session")]
    NoSession,
    /// The note does not fit into the audit record.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The session may or may not be deleted. Deleting again tells.
    #[error("it is not known whether the session was deleted")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// A harness could not be registered; nothing was written.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// The name is in some host's own configuration.
    #[error("harness name {0} belongs to the configuration of a host")]
    Reserved(String),
    /// The name is registered with another spec.
    #[error("harness {0} is registered with another spec")]
    OtherSpec(String),
    /// The name or the spec does not fit into its row.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The harness may or may not be registered. Registering again tells.
    #[error("it is not known whether the harness was registered")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// A harness could not be retired.
#[derive(Debug, Error)]
pub enum RetireError {
    /// There is no registration of this name.
    #[error("harness {0} is not registered")]
    NotRegistered(String),
    /// The reason does not fit into the row.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The harness may or may not be retired. Retiring again tells.
    #[error("it is not known whether the harness was retired")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// Names could not be reserved; none was.
#[derive(Debug, Error)]
pub enum ReserveError {
    /// Some are registered, and registrations are for ever.
    #[error("registered already: {}", .0.join(", "))]
    Registered(Vec<String>),
    /// A name does not fit into a key.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// They may or may not be reserved. Reserving again tells.
    #[error("it is not known whether the names were reserved")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// Something of another host could not be carried over. What was carried over before stays.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The uid is taken, by another session or by one whose log has gone another way.
    #[error("session {0} is in this journal already, and its log here does not begin with the records to be imported")]
    OtherSession(SessionUid),
    /// The session was deleted here.
    #[error("session {0} was deleted in this journal and does not come back")]
    Deleted(SessionUid),
    /// The harness name is registered here, and not as what is to be imported.
    #[error("harness name {0} is registered in this journal for something else")]
    NameRegistered(String),
    /// The harness name is to be registered, and belongs to the configuration of a host here.
    #[error("harness name {0} belongs to the configuration of a host of this journal")]
    NameReserved(String),
    /// A record cannot be carried over.
    #[error("session {0} {1}")]
    Record(SessionUid, UnfitRecord),
    /// Something does not fit into the journal.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// This one may not go on.
    #[error("another import into this journal has begun")]
    Superseded,
    /// The last step may or may not have been taken. Importing again tells.
    #[error("it is not known whether the last step of the import was taken")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

macro_rules! journal_failures {
    ($($error:ident)*) => {$(
        impl From<JournalError> for $error {
            fn from(error: JournalError) -> Self {
                Self::Journal(error)
            }
        }

        impl From<Corrupt> for $error {
            fn from(error: Corrupt) -> Self {
                Self::Journal(error.into())
            }
        }
    )*};
}

macro_rules! write_outcomes {
    ($($error:ident)*) => {$(
        impl From<TransactError<$error>> for $error {
            fn from(error: TransactError<$error>) -> Self {
                match error {
                    TransactError::Aborted(error) => error,
                    TransactError::Exhausted { attempts } => Self::Journal(JournalError::Contended { attempts }),
                    TransactError::Unknown => Self::Unknown,
                    TransactError::Store(StoreError::Limit(limit)) => Self::TooLarge(limit.into()),
                    TransactError::Store(error) => Self::Journal(error.into()),
                }
            }
        }
    )*};
}

pub(crate) use {journal_failures, write_outcomes};

journal_failures!(OpenError CreateError AppendError ForkError DeleteError RegisterError RetireError ReserveError ImportError);
write_outcomes!(CreateError AppendError ForkError DeleteError RegisterError RetireError ReserveError ImportError);

impl JournalError {
    /// The same; a row that cannot be read is one of this session.
    pub(crate) fn of_session(self, uid: &SessionUid) -> Self {
        match self {
            Self::Corrupt(corrupt) => Self::CorruptSession(uid.clone(), corrupt),
            other => other,
        }
    }
}

impl From<TransactError<JournalError>> for JournalError {
    fn from(error: TransactError<JournalError>) -> Self {
        match error {
            TransactError::Aborted(error) => error,
            TransactError::Exhausted { attempts } => Self::Contended { attempts },
            // Reads have no outcome that could be unknown, and what else comes here is done again.
            TransactError::Unknown => StoreError::Unavailable("commits go unanswered".to_owned()).into(),
            TransactError::Store(error) => error.into(),
        }
    }
}

/// Whether something of `size` bytes is within `limit`.
pub(crate) fn check(what: &'static str, size: usize, limit: usize) -> Result<(), TooLarge> {
    if size > limit { Err(TooLarge { what, size, limit }) } else { Ok(()) }
}

/// Ends a transaction with an error of the operation.
pub(crate) fn refuse<E>(error: impl Into<E>) -> TransactError<E> {
    TransactError::Aborted(error.into())
}
