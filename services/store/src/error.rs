//! What can go wrong in a store.

use thiserror::Error;

/// A limit of [`crate::limits`] was exceeded. Never retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{what} of {size} bytes exceeds the limit of {limit}")]
pub struct LimitExceeded {
    /// What was too large: `key`, `value` or `transaction`.
    pub what: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// The limit in bytes.
    pub limit: usize,
}

/// A read or a begin failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The transaction outlived [`crate::limits::TRANSACTION_LIFE`], or its snapshot is not to be had; a new one may
    /// succeed.
    #[error("transaction is too old")]
    TooOld,
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A key begins with [`crate::limits::SYSTEM_PREFIX`], or a range ends before it begins.
    #[error("key or range is not legal")]
    IllegalKey,
    /// The engine cannot be reached or is shutting down.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// The engine failed in a way that a retry does not mend.
    #[error("store failed: {0}")]
    Engine(String),
}

/// A commit did not succeed, or may not have.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Something that was read has changed. Nothing was written.
    #[error("transaction conflicts with another")]
    Conflict,
    /// The commit may or may not have happened.
    #[error("outcome of the commit is unknown")]
    Unknown,
    /// Nothing was written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why [`crate::Store::transact`] gave up.
#[derive(Debug, Error)]
pub enum TransactError<E> {
    /// The closure refused; nothing was written by that attempt. It saw [`crate::Attempt::maybe_committed`].
    #[error(transparent)]
    Aborted(E),
    /// The retry policy ran out; no attempt was committed.
    #[error("transaction was retried {attempts} times without success")]
    Exhausted {
        /// Attempts made.
        attempts: u32,
    },
    /// The retry policy ran out, or the store failed, while an earlier attempt may have been committed.
    #[error("outcome of the transaction is unknown")]
    Unknown,
    /// The store failed; no attempt was committed.
    #[error(transparent)]
    Store(StoreError),
}

impl<E> From<StoreError> for TransactError<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
