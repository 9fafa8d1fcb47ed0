//! FoundationDB's limits, enforced by every engine so that nothing passes on a laptop and fails in production.

use std::time::Duration;

use crate::{KeyRange, LimitExceeded, StoreError};

/// Longest key, in bytes.
pub const KEY_BYTES: usize = 10_000;
/// Longest value, in bytes.
pub const VALUE_BYTES: usize = 100_000;
/// Largest transaction, in bytes: written keys and values, the bounds of the ranges that it reads or writes, and
/// [`OPERATION_BYTES`] for each.
pub const TRANSACTION_BYTES: usize = 10_000_000;
/// What each write and each serializable read adds to the size of its transaction. FoundationDB's client counts its own
/// structures; this is no less than it counts, so that many small writes do not pass here and fail there.
pub const OPERATION_BYTES: usize = 80;
/// Longest life of a transaction, from its first read to its commit.
pub const TRANSACTION_LIFE: Duration = Duration::from_secs(5);
/// First byte of the keys that belong to the engine; no key of a caller may begin with it.
pub const SYSTEM_PREFIX: u8 = 0xff;

/// Refuses a key that no engine may hold.
pub(crate) fn check_key(key: &[u8]) -> Result<(), StoreError> {
    check("key", key.len(), KEY_BYTES)?;
    if key.first() == Some(&SYSTEM_PREFIX) { Err(StoreError::IllegalKey) } else { Ok(()) }
}

/// Refuses a value that no engine may hold.
pub(crate) fn check_value(value: &[u8]) -> Result<(), StoreError> {
    check("value", value.len(), VALUE_BYTES)
}

/// Refuses a range that reaches beyond the keys of callers, or ends before it begins.
pub(crate) fn check_range(range: &KeyRange) -> Result<(), StoreError> {
    check("key", range.begin.len().max(range.end.len()), KEY_BYTES + 1)?;
    let legal = range.begin <= range.end && range.end[..] <= [SYSTEM_PREFIX][..];
    if legal { Ok(()) } else { Err(StoreError::IllegalKey) }
}

/// The size of a transaction so far.
#[derive(Debug, Default)]
pub(crate) struct Size(usize);

impl Size {
    pub(crate) fn bytes(&self) -> usize {
        self.0
    }

    pub(crate) fn add_write(&mut self, key: usize, value: usize) -> Result<(), StoreError> {
        self.add(key + value + 2 * key + 1)
    }

    pub(crate) fn add_cleared(&mut self, range: &KeyRange) -> Result<(), StoreError> {
        self.add(2 * (range.begin.len() + range.end.len()))
    }

    pub(crate) fn add_range(&mut self, range: &KeyRange) -> Result<(), StoreError> {
        self.add(range.begin.len() + range.end.len())
    }

    pub(crate) fn add_point(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.add(2 * key.len() + 1)
    }

    fn add(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.0 += bytes + OPERATION_BYTES;
        check("transaction", self.0, TRANSACTION_BYTES)
    }
}

fn check(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit { Err(LimitExceeded { what, size, limit }.into()) } else { Ok(()) }
}
