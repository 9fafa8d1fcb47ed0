//! FoundationDB's limits, enforced by every engine so that nothing passes on a laptop and fails in production.

use std::time::Duration;

/// Longest key, in bytes.
pub const KEY_BYTES: usize = 10_000;
/// Longest value, in bytes.
pub const VALUE_BYTES: usize = 100_000;
/// Largest transaction, in bytes: written keys and values, and the bounds of the ranges that it conflicts with.
pub const TRANSACTION_BYTES: usize = 10_000_000;
/// Longest life of a transaction, from its first read to its commit.
pub const TRANSACTION_LIFE: Duration = Duration::from_secs(5);
