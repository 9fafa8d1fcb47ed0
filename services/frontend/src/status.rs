//! The one place where errors of the host become gRPC statuses (execution.md §1).

use std::error::Error;

use controller::{Classified, ErrorClass};
use tonic::{Code, Status};

/// What the caller is told about `error`.
pub(crate) fn status(error: &impl Classified) -> Status {
    let code = code(error.class());
    if code == Code::Internal {
        let kind = error.kind();
        match error.source() {
            // A program with a node inside shows these, and nothing else of its log.
            Some(cause) => {
                tracing::warn!(target: "agentsessions::cause", error = kind, cause = %Causes(Some(cause)), "call failed")
            }
            None => tracing::warn!(error = kind, "call failed"),
        }
    }
    Status::new(code, cut(error.to_string()))
}

/// Longest message of a status, in bytes. It travels in a header, which triples some characters, and clients drop the
/// connection over more than 8 KiB of headers. Messages quote names that callers chose.
const MESSAGE_BYTES: usize = 1000;

fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        message.push('…');
    }
    message
}

fn code(class: ErrorClass) -> Code {
    match class {
        ErrorClass::InvalidArgument => Code::InvalidArgument,
        ErrorClass::NotFound => Code::NotFound,
        ErrorClass::AlreadyExists => Code::AlreadyExists,
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
struct Causes<'a>(Option<&'a dyn Error>);

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        let mut next = self.0;
        while let Some(cause) = next {
            write!(f, "{separator}{cause}")?;
            separator = ": ";
            next = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use controller::{HostError, RegistryError};
    use journal::JournalError;
    use store::StoreError;

    use super::*;

    #[test]
    fn every_class_of_the_host_has_the_code_of_its_name() {
        let classes = [
            ErrorClass::InvalidArgument,
            ErrorClass::NotFound,
            ErrorClass::AlreadyExists,
            ErrorClass::FailedPrecondition,
            ErrorClass::Aborted,
            ErrorClass::Unavailable,
            ErrorClass::DeadlineExceeded,
            ErrorClass::Cancelled,
            ErrorClass::Unimplemented,
            ErrorClass::Internal,
        ];
        for class in classes {
            assert_eq!(format!("{class:?}"), format!("{:?}", code(class)));
        }
    }

    #[test]
    fn whoever_asks_what_a_failed_journal_cannot_do_is_told_the_cause() {
        let full = || JournalError::from(StoreError::Engine("writing failed: database or disk is full".to_owned()));
        for status in [status(&HostError::Journal(full())), status(&RegistryError::from(full()))] {
            let told = "journal failed: store failed: writing failed: database or disk is full";
            assert_eq!((status.code(), status.message()), (Code::Internal, told));
        }
    }

    #[test]
    fn a_message_that_quotes_a_huge_name_still_fits_into_a_header() {
        let name = "\u{20ac}".repeat(10_000);
        let status = status(&HostError::UnknownHarness(name));
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().starts_with("harness ") && status.message().len() <= MESSAGE_BYTES + '…'.len_utf8());
        assert_eq!(cut("short".to_owned()), "short");
    }
}
