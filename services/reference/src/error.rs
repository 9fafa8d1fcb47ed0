//! What can be wrong with a file, and what can stand in its way.

use journal::import::UnfitReason;
use journal::{ImportError, InvalidUid, TooLarge};
use thiserror::Error;

/// A file cannot be opened as a journal of the reference host.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It is something else.
    #[error("it is {0}, not a journal of the reference host")]
    Foreign(&'static str),
    /// A version of the reference host wrote it that came later than this program.
    #[error("it has version {found}; versions 0 to {newest} can be read")]
    Version {
        /// Its version.
        found: i64,
        /// The newest that can be read.
        newest: i64,
    },
    /// It lacks something that every file of its version has.
    #[error("it has no {0}, which every journal of its version has")]
    Lacks(String),
    /// It cannot be read.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// The first thing in a file that cannot be carried over.
#[derive(Debug, Error)]
pub enum CheckError {
    /// A session.
    #[error("session {session}: {fault}")]
    Session {
        /// Its uid.
        session: String,
        /// What is wrong.
        fault: SessionFault,
    },
    /// A record.
    #[error("session {session} seq {seq}: {fault}")]
    Record {
        /// The session's uid.
        session: String,
        /// Where in its log.
        seq: i64,
        /// What is wrong.
        fault: RecordFault,
    },
    /// A harness name.
    #[error("harness {name}: {fault}")]
    Harness {
        /// The name.
        name: String,
        /// What is wrong.
        fault: String,
    },
    /// Rows are not where they can be found, which only a damaged file brings about.
    #[error("{table} has {counted} rows, of which {read} can be read")]
    Lost {
        /// The table.
        table: &'static str,
        /// How many there are.
        counted: u64,
        /// How many were found.
        read: u64,
    },
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// What is wrong with the row of a session.
#[derive(Debug, Error)]
pub enum SessionFault {
    /// It has no uid.
    #[error(transparent)]
    Uid(#[from] InvalidUid),
    /// A column holds what it cannot hold.
    #[error("{column} cannot be decoded: {reason}")]
    Column {
        /// The column.
        column: &'static str,
        /// Why.
        reason: String,
    },
    /// The journal has no room for it.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// What is wrong with a record.
#[derive(Debug, Error)]
pub enum RecordFault {
    /// Its row is there and says nothing. That is damage, not tampering.
    #[error("{column} cannot be decoded: {reason}")]
    Column {
        /// The column.
        column: &'static str,
        /// Why.
        reason: String,
    },
    /// It was changed, moved or removed, or has no place in a journal.
    #[error(transparent)]
    Unfit(#[from] UnfitReason),
    /// There is no row of the session.
    #[error("there is no such session")]
    NoSession,
    /// The session is a fork of one that the file does not have.
    #[error("the session is a fork of {parent}, which is not in the file")]
    NoParent {
        /// The parent's uid.
        parent: String,
    },
    /// The session is a fork, and its log is not that of its parent.
    #[error("it is not what {parent}, the session's parent, has there")]
    OtherParent {
        /// The parent's uid.
        parent: String,
    },
    /// The file cannot be read from here on.
    #[error("it cannot be read: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// A checked file could not be carried over.
#[derive(Debug, Error)]
pub enum CarryError {
    /// Something in the journal contradicts it. Nothing was written.
    #[error("{0}; nothing was imported")]
    Conflict(ImportError),
    /// The import failed on its way. What is complete stays, and another import goes on from there.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The file is not what it was when it was checked.
    #[error("the file has changed since it was checked: {0}")]
    Changed(#[from] CheckError),
}
