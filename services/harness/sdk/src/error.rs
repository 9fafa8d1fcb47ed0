//! What can go wrong between a harness and its host.

use thiserror::Error;

/// Why an effect has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SinkError {
    /// The request is one that every host refuses; nothing was sent, and the harness may go on.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The host broke the protocol. Every later effect fails too, and so does the turn.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The host closed its side of the stream, or the run is over.
    #[error("the host ended the execution")]
    Closed,
    /// An earlier effect was dropped before its answer came, so answers can no longer be told apart.
    #[error("an earlier effect was abandoned before its answer")]
    Abandoned,
}

/// Why a request was not even sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The host deduplicates by this key.
    #[error("a tool call needs an idempotency key")]
    NoIdempotencyKey,
    /// A decision names the call it is about.
    #[error("a tool call that needs approval needs an id")]
    NoCallId,
    /// Only the host writes receipts of gated calls.
    #[error("a reported tool result cannot carry an approval")]
    ReportedReceipt,
}

/// How the host broke the protocol of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// The stream has to begin with the start frame.
    #[error("the first frame is {0}, not start")]
    NoStart(&'static str),
    /// The start frame names no execution.
    #[error("the start frame has no execution id")]
    NoExecution,
    /// A frame of another execution.
    #[error("a {0} frame carries another execution id")]
    OtherExecution(&'static str),
    /// A frame of another session.
    #[error("a {0} frame carries another session")]
    OtherSession(&'static str),
    /// A frame that nothing asked for.
    #[error("unexpected {0} frame")]
    Unexpected(&'static str),
    /// An answer to another call.
    #[error("a {0} frame answers another call")]
    OtherCall(&'static str),
    /// A model result without a message.
    #[error("a model frame has no message")]
    NoMessage,
    /// A park frame or a decision that names no request, or a receipt for another one.
    #[error("a {0} frame names no approval request, or another one")]
    OtherRequest(&'static str),
    /// A receipt whose status is impossible after the decision.
    #[error("the receipt contradicts the decision")]
    Contradiction,
    /// Something is wrong with the streams of the invocation.
    #[error(transparent)]
    Stream(#[from] StreamFault),
}

/// How the host broke the rules of streams (invocation.proto).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StreamFault {
    /// It says nothing.
    #[error("a stream frame says nothing")]
    Empty,
    /// Items and ends are for inputs, credit for outputs.
    #[error("a stream frame is for a stream of the other direction")]
    Direction,
    /// More streams than an invocation may have.
    #[error("a stream frame is of one stream too many")]
    TooMany,
    /// An item was left out, or came again.
    #[error("a stream frame carries an item out of order")]
    Sequence,
    /// No bytes, or more than 1 MiB.
    #[error("a stream frame carries no octets, or too many")]
    Octets,
    /// The item should have waited for credit.
    #[error("a stream frame carries an item without credit")]
    Overdrawn,
    /// Credit that is not positive, or beyond all measure.
    #[error("a stream frame grants impossible credit")]
    Credit,
    /// The stream has ended.
    #[error("a stream frame follows the end of its stream")]
    AfterEnd,
}
