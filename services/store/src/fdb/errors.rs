//! What the client's errors mean to a transaction.

use foundationdb::FdbError;

use crate::{CommitError, StoreError};

/// The client's codes for which it has no predicate.
const NOT_COMMITTED: i32 = 1020;
const TRANSACTION_TIMED_OUT: i32 = 1031;
const DATABASE_LOCKED: i32 = 1038;
/// Codes of misuse, which the client finds before it sends anything.
const MISUSE: std::ops::Range<i32> = 2000..3000;

/// Why a transaction that has sent no commit cannot go on.
pub(super) fn read_error(error: FdbError) -> StoreError {
    match error.code() {
        DATABASE_LOCKED => StoreError::Unavailable(error.message().into()),
        TRANSACTION_TIMED_OUT => StoreError::TooOld,
        _ if error.is_retryable() => StoreError::TooOld,
        code => StoreError::Engine(format!("{} ({code})", error.message())),
    }
}

/// Why a commit that was sent was not acknowledged. What is not known to be refused may have happened.
pub(super) fn commit_error(error: FdbError) -> CommitError {
    match error.code() {
        NOT_COMMITTED => CommitError::Conflict,
        code if error.is_retryable_not_committed() || MISUSE.contains(&code) => read_error(error).into(),
        _ => CommitError::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(code: i32) -> CommitError {
        commit_error(FdbError::from_code(code))
    }

    #[test]
    fn what_may_have_been_committed_is_unknown() {
        // commit_unknown_result, cluster_version_changed, transaction_timed_out; then broken_promise,
        // transaction_cancelled, io_error and a code that nobody knows.
        for code in [1021, 1039, 1031, 1100, 1025, 1510, 9999] {
            assert!(matches!(commit(code), CommitError::Unknown), "{code}");
        }
    }

    #[test]
    fn what_was_refused_is_not_unknown() {
        assert!(matches!(commit(1020), CommitError::Conflict));
        // transaction_too_old, future_version, process_behind, batch_transaction_throttled, tag_throttled.
        for code in [1007, 1009, 1037, 1051, 1213] {
            assert!(matches!(commit(code), CommitError::Store(StoreError::TooOld)), "{code}");
        }
        assert!(matches!(commit(1038), CommitError::Store(StoreError::Unavailable(_))));
        // transaction_too_large.
        assert!(matches!(commit(2101), CommitError::Store(StoreError::Engine(_))));
    }

    #[test]
    fn a_read_that_took_too_long_or_met_a_recovery_is_made_again() {
        for code in [1007, 1009, 1031, 1037, 1039, 1042] {
            assert!(matches!(read_error(FdbError::from_code(code)), StoreError::TooOld), "{code}");
        }
        assert!(matches!(read_error(FdbError::from_code(2000)), StoreError::Engine(_)));
    }
}
