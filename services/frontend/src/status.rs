//! The one place where errors of the host become gRPC statuses (execution.md §1).

use std::error::Error;

use controller::{ErrorClass, HostError};
use tonic::{Code, Status};

/// What the caller is told about `error`.
pub(crate) fn status(error: &HostError) -> Status {
    let code = code(error.class());
    if code == Code::Internal {
        tracing::warn!(error = %error, cause = %Causes(error), "call failed");
    }
    Status::new(code, error.to_string())
}

fn code(class: ErrorClass) -> Code {
    match class {
        ErrorClass::InvalidArgument => Code::InvalidArgument,
        ErrorClass::NotFound => Code::NotFound,
        ErrorClass::FailedPrecondition => Code::FailedPrecondition,
        ErrorClass::Aborted => Code::Aborted,
        ErrorClass::Unavailable => Code::Unavailable,
        ErrorClass::DeadlineExceeded => Code::DeadlineExceeded,
        ErrorClass::Cancelled => Code::Cancelled,
        ErrorClass::Unimplemented => Code::Unimplemented,
        ErrorClass::Internal => Code::Internal,
    }
}

/// The causes of an error, outermost first. They go to the log only: callers cannot mend them.
struct Causes<'a>(&'a HostError);

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, "{separator}{cause}")?;
            separator = ": ";
            next = cause.source();
        }
        Ok(())
    }
}
