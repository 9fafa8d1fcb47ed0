//! Why no answer came.

use std::error::Error;
use std::io;
use std::iter::successors;

use thiserror::Error;

/// Why a request got no answer, by what that means for a repetition.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// There was no connection, so nothing was sent.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The other end is not who it should be, or speaks no TLS.
    #[error("no trusted connection: {0}")]
    Untrusted(String),
    /// The connection ended before anything of an answer was read. The request may have arrived.
    #[error("the connection was lost before an answer began")]
    Lost,
    /// Anything else.
    #[error("the request failed: {0}")]
    Failed(String),
}

impl From<&reqwest::Error> for Failure {
    fn from(error: &reqwest::Error) -> Self {
        let cause = root_cause(error);
        if sources(error).any(is_tls) {
            Self::Untrusted(cause)
        } else if error.is_connect() {
            Self::Connect(cause)
        } else if sources(error).any(is_loss) {
            Self::Lost
        } else {
            Self::Failed(cause)
        }
    }
}

/// The innermost cause: the outer ones name the URL, or say little.
#[must_use]
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    sources(error).last().map_or_else(|| "unknown cause".into(), ToString::to_string)
}

fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(error.source(), |error| (*error).source())
}

/// I/O errors wrap one another without being one another's source.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}

fn is_loss(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let hyper = error.downcast_ref::<hyper::Error>();
    let io = error.downcast_ref::<io::Error>();
    hyper.is_some_and(|error| error.is_incomplete_message() || error.is_canceled() || error.is_closed())
        || io.is_some_and(|error| {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        })
}
