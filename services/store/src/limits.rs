//! FoundationDB's limits, enforced by every engine so that nothing passes on a laptop and fails in production.

use std::time::Duration;

use crate::{KeyRange, LimitExceeded, StoreError};

/// Longest key, in bytes. FoundationDB's limit is 10,000; what is left of it is for the prefix of a
/// [subspace](crate::Subspace) and for what a versionstamped key is sent with.
pub const KEY_BYTES: usize = 9_960;
/// Longest prefix of a [subspace](crate::Subspace), in bytes.
pub const PREFIX_BYTES: usize = 32;
/// Longest value, in bytes.
pub const VALUE_BYTES: usize = 100_000;
/// Largest transaction, in bytes: written keys and values, the bounds of the ranges that it reads or writes, and
/// [`OPERATION_BYTES`] for each.
pub const TRANSACTION_BYTES: usize = 10_000_000;
/// What each write and each serializable read adds to the size of its transaction. FoundationDB's client counts its own
/// structures, up to 80 bytes, and every prefix, three times for a write; this is no less than it counts, so that many small
/// writes do not pass here and fail there.
pub const OPERATION_BYTES: usize = 80 + 3 * PREFIX_BYTES;
/// Longest life of a transaction, from its first read to its commit.
pub const TRANSACTION_LIFE: Duration = Duration::from_secs(5);
/// First byte of the keys that belong to the engine; no key of a caller may begin with it.
pub const SYSTEM_PREFIX: u8 = 0xff;

/// Refuses a key that no engine may hold.
pub(crate) fn check_key(key: &[u8]) -> Result<(), StoreError> {
    check("key", key.len(), KEY_BYTES)?;
    if key.first() == Some(&SYSTEM_PREFIX) { Err(StoreError::IllegalKey) } else { Ok(()) }
}

/// Refuses a range that reaches beyond the keys of callers, or ends before it begins.
pub(crate) fn check_range(range: &KeyRange) -> Result<(), StoreError> {
    check("key", range.begin.len().max(range.end.len()), KEY_BYTES + 1)?;
    let legal = range.begin <= range.end && range.end[..] <= [SYSTEM_PREFIX][..];
    if legal { Ok(()) } else { Err(StoreError::IllegalKey) }
}

/// How much a transaction has done, and whether all of it was legal.
#[derive(Debug, Default)]
pub(crate) struct Account {
    bytes: usize,
    writes: bool,
    /// What the first illegal write was refused for: reported by the commit, as writing has no answer.
    refused: Option<StoreError>,
}

impl Account {
    /// The size of the transaction.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it writes anything.
    #[cfg(feature = "fdb")]
    pub(crate) fn has_writes(&self) -> bool {
        self.writes
    }

    /// Counts a serializable read of `key`.
    pub(crate) fn count_point(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.add(2 * key.len() + 1)
    }

    /// Counts a serializable read of `range`.
    pub(crate) fn count_range(&mut self, range: &KeyRange) -> Result<(), StoreError> {
        self.add(range.begin.len() + range.end.len())
    }

    /// Whether `value` may be written to `key`; not after another write was refused.
    pub(crate) fn allows_write(&mut self, key: &[u8], value: &[u8]) -> bool {
        let checked = check_key(key)
            .and_then(|()| check("value", value.len(), VALUE_BYTES))
            .and_then(|()| self.add(key.len() + value.len() + 2 * key.len() + 1));
        self.allows(checked)
    }

    /// Whether `range` may be cleared; not after another write was refused.
    pub(crate) fn allows_clear(&mut self, range: &KeyRange) -> bool {
        let checked = check_range(range).and_then(|()| self.add(2 * (range.begin.len() + range.end.len())));
        self.allows(checked)
    }

    /// Why the transaction must not commit, if a write was refused.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        self.refused.take().map_or(Ok(()), Err)
    }

    fn allows(&mut self, checked: Result<(), StoreError>) -> bool {
        self.writes = true;
        if self.refused.is_none() {
            self.refused = checked.err();
        }
        self.refused.is_none()
    }

    fn add(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.bytes += bytes + OPERATION_BYTES;
        check("transaction", self.bytes, TRANSACTION_BYTES)
    }
}

fn check(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit { Err(LimitExceeded { what, size, limit }.into()) } else { Ok(()) }
}
