//! The shapes of generated ids (journal.md §6, §9; wire.md, `x-request-id`).

use crate::Env;

/// A session uid: `sess-` and 24 lowercase hex digits.
#[must_use]
pub fn session_uid(env: &Env) -> String {
    format!("sess-{}", hex_id::<12>(env))
}

/// The uid of a harness registration: `harness-` and 24 lowercase hex digits.
#[must_use]
pub fn harness_uid(env: &Env) -> String {
    format!("harness-{}", hex_id::<12>(env))
}

/// An execution id or a recorded model call id: 16 lowercase hex digits.
#[must_use]
pub fn execution_id(env: &Env) -> String {
    hex_id::<8>(env)
}

/// A request id minted where the caller sent none or a bad one: 24 lowercase hex digits.
#[must_use]
pub fn request_id(env: &Env) -> String {
    hex_id::<12>(env)
}

/// `N` random bytes as lowercase hex.
#[must_use]
pub fn hex_id<const N: usize>(env: &Env) -> String {
    hex::encode(env.random_bytes::<N>())
}
