//! What can go wrong with invocations, one enum per kind of caller.

use store::{StoreError, TransactError};
use thiserror::Error;

use super::StreamId;
use crate::error::{journal_failures, write_outcomes};
use crate::{Corrupt, CreateError, JournalError, TooLarge};

/// The rule of the protocol that a client broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.code())]
pub enum Rule {
    /// An item or an end follows the end of its stream (I3, I6).
    ProtocolError,
    /// The stream is none of the inputs, or is cancelled after its end (C3, Q2).
    InvalidChannel,
    /// Input begins after what is expected next (I3, I6).
    InputGap,
    /// Input differs from what was accepted, in content or in its borders (I3, I6).
    InputConflict,
    /// A provisional reference is used at a second place (N4).
    StreamAlreadyConsumed,
    /// A provisional reference is used twice, for streams of different types (N4).
    StreamConflict,
    /// Too many streams in one value, or in the invocation (C4).
    ResourceExhausted,
}

impl Rule {
    /// The protocol's error code.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::ProtocolError => "protocol-error",
            Self::InvalidChannel => "invalid-channel",
            Self::InputGap => "input-gap",
            Self::InputConflict => "input-conflict",
            Self::StreamAlreadyConsumed => "stream-already-consumed",
            Self::StreamConflict => "stream-conflict",
            Self::ResourceExhausted => "resource-exhausted",
        }
    }
}

/// An invocation was not accepted; nothing of it was written.
#[derive(Debug, Error)]
pub enum AcceptError {
    /// The attempt is known with another descriptor (14.2, step 7).
    #[error("attempt is known with other content")]
    AttemptConflict,
    /// The idempotency key names an invocation of the instance already (14.2, step 8).
    #[error("idempotency key names another invocation")]
    KeyUsed,
    /// Its streams break a rule.
    #[error("streams of the parameters: {0}")]
    Streams(Rule),
    /// The session that would be the instance could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// It does not fit into the journal.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// It may or may not have been accepted. The attempt tells.
    #[error("it is not known whether the invocation was accepted")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// A connection was not attached.
#[derive(Debug, Error)]
pub enum AttachError {
    /// The invocation is unknown, or no longer retained (14.3, step 6).
    #[error("invocation is not retained")]
    NotRetained,
    /// The attempt is known with another descriptor (step 7).
    #[error("attempt is known with other content")]
    AttemptConflict,
    /// The client knows an attachment that was superseded (step 8).
    #[error("generation has passed")]
    Stale,
    /// The client knows an attachment that never was (step 9).
    #[error("generation has not come")]
    Future,
    /// A resume of what is attached, or a takeover of what is detached (step 10).
    #[error("invocation is attached, or detached")]
    State,
    /// A cursor is of no output of the invocation, or beyond its history (step 11).
    #[error("cursor of stream {0} does not fit")]
    Cursor(StreamId),
    /// It may or may not have been attached. The attempt tells.
    #[error("it is not known whether the connection was attached")]
    Unknown,
    /// It does not fit into the journal.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// What the holder of an attachment asked for was not done.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// The attachment is somebody else's, or nobody's, or the invocation is gone.
    #[error("attachment is no longer held")]
    Lost,
    /// It does not fit into the journal; nothing was written.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// It may or may not have been done.
    #[error("it is not known whether the write succeeded")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// What the runner of an instance asked for was not done.
#[derive(Debug, Error)]
pub enum RunError {
    /// Another node drives the instance, or it is gone.
    #[error("instance is driven by somebody else")]
    Lost,
    /// The write does not fit what is durable.
    #[error("stream {0} {1}")]
    Fault(StreamId, OutputFault),
    /// Too many streams in one value, or in the invocation (C4).
    #[error("too many streams")]
    TooManyStreams,
    /// The invocation has ended, or the method has returned.
    #[error("invocation is past that")]
    Over,
    /// It does not fit into the journal; nothing was written.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// It may or may not have been done.
    #[error("it is not known whether the write succeeded")]
    Unknown,
    /// The journal failed.
    #[error(transparent)]
    Journal(JournalError),
}

/// Why a runner's write does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OutputFault {
    /// There is no such stream of that role.
    #[error("is not there")]
    Absent,
    /// The items do not begin where the stream ends.
    #[error("does not end where the items begin")]
    OutOfSequence,
    /// The stream has ended in another way.
    #[error("has ended")]
    Ended,
    /// The invocation cannot end while the stream is open.
    #[error("is open")]
    Open,
}

journal_failures!(AcceptError AttachError LeaseError RunError);
write_outcomes!(AcceptError AttachError LeaseError RunError);
