//! Why a call failed.

use std::error::Error as _;
use std::time::Duration;

use thiserror::Error;
use tonic::{Code, Status};

use crate::Address;

/// A failed call: `CODE_NAME: message`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {message}", code_name(*code))]
pub struct Error {
    code: Code,
    message: String,
    request_id: String,
    origin: Origin,
    /// There was no connection to send anything on.
    unconnected: bool,
}

/// Who says that the call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The host answered so.
    Host,
    /// The connection broke, was refused, or the answer did not come in time: what the host did is not known.
    Transport,
    /// The session's log does, which was read when the connection had broken.
    Log,
}

impl Error {
    /// The class of the failure.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// What went wrong, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The id under which the host's logs show this call.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Who says that the call failed.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether another connection may help: this one broke, or the node says that it is going away.
    #[must_use]
    pub fn is_broken_connection(&self) -> bool {
        match self.origin {
            Origin::Transport => self.code != Code::DeadlineExceeded,
            Origin::Host => self.code == Code::Unavailable,
            Origin::Log => false,
        }
    }

    /// Whether no node has begun what was asked for: there was no connection, or the node has refused.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        self.unconnected || (self.origin == Origin::Host && self.code == Code::Unavailable)
    }

    pub(crate) fn from_status(status: &Status, request_id: &str) -> Self {
        // The transport keeps the cause of every status that it makes up itself; one read from the wire has none.
        let origin = if status.source().is_some() { Origin::Transport } else { Origin::Host };
        Self {
            code: status.code(),
            message: message(status, origin),
            request_id: request_id.to_owned(),
            origin,
            unconnected: causes(status.source()).any(|cause| cause.is::<tonic::ConnectError>()),
        }
    }

    /// Says which node it was whose connection failed: the transport does not.
    pub(crate) fn at(mut self, node: &str) -> Self {
        if self.origin == Origin::Transport {
            self.message = format!("{node}: {}", self.message);
        }
        self
    }

    pub(crate) fn of_log(code: Code, message: &str, request_id: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
            request_id: request_id.to_owned(),
            origin: Origin::Log,
            unconnected: false,
        }
    }

    pub(crate) fn no_answer(bound: Duration, request_id: &str) -> Self {
        Self {
            code: Code::DeadlineExceeded,
            message: format!("no answer within {} s", bound.as_secs_f32()),
            request_id: request_id.to_owned(),
            origin: Origin::Transport,
            unconnected: false,
        }
    }
}

/// The status text, with the root cause of a broken connection, which the transport leaves out of it.
fn message(status: &Status, origin: Origin) -> String {
    let root = if origin == Origin::Transport { causes(status.source()).last() } else { None };
    match root.map(ToString::to_string) {
        None if status.message().is_empty() && status.code() == Code::Unimplemented => {
            "the service at this address does not know this call".to_owned()
        }
        Some(root) if !status.message().contains(&root) => format!("{}: {root}", status.message()),
        _ => status.message().to_owned(),
    }
}

fn causes<'a>(outermost: Option<&'a (dyn std::error::Error + 'static)>) -> impl Iterator<Item = Cause<'a>> {
    std::iter::successors(outermost, |cause: &Cause<'a>| (*cause).source())
}

type Cause<'a> = &'a (dyn std::error::Error + 'static);

/// Nothing answers at any of the addresses.
#[derive(Debug, Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ConnectError(pub Vec<NoConnection>);

/// Nothing answers at an address.
#[derive(Debug, Error)]
#[error("no connection to {address}: {}", root_cause(source))]
pub struct NoConnection {
    /// Where.
    pub address: Address,
    /// Why.
    pub source: tonic::transport::Error,
}

fn root_cause(error: &tonic::transport::Error) -> String {
    causes(Some(error)).last().map_or_else(String::new, ToString::to_string)
}

/// The name of a code in the gRPC documents, as in `FAILED_PRECONDITION`.
#[must_use]
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
