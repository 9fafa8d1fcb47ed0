//! The trait a harness implements, and how it says that it failed.

use std::error::Error;
use std::fmt::{self, Write};

use async_trait::async_trait;
use wire::HarnessDescriptor;

use crate::{Sink, Turn};

/// An agent that a session host can run.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// What this harness is. Change `version` whenever a recorded turn would no longer replay: the host refuses to
    /// resume a turn on another version than the one it began on.
    fn describe(&self) -> HarnessDescriptor;

    /// Runs one turn to its end.
    ///
    /// Every effect goes through `sink`, one at a time. The same turn must ask for the same effects in the same order
    /// when it is run again, because that is how the host resumes it after a crash; whatever is not an effect (the
    /// clock, randomness, files) must not decide what comes next.
    ///
    /// # Errors
    /// An error ends the turn as failed, with the error's text as the recorded reason. The turn stays recoverable.
    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure>;
}

/// Why a turn failed: the text that the host records. Every error converts into it, with its sources, so `?` works.
pub struct Failure(String);

impl Failure {
    /// A failure with this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            // Writing to a string cannot fail.
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        Self(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({})", self.0)
    }
}
