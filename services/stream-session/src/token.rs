//! Opaque tokens (tokens.md): what they say, signed, for nobody but the servers of one deployment to read.

mod claims;
mod fields;
mod ring;

use crate::{ErrorCode, Refusal};

pub use claims::{Claims, CursorClaims, Role, SessionClaims, StreamClaims};
pub use ring::{InvalidKeyRing, Key, KeyRing};

/// The audience of every token.
pub const AUDIENCE: &str = "golem-agent-invocation";

/// What the text of a token begins with.
const PREFIX: &str = "gai1_";

/// Whom a token is for. Every token of a session has the one with which the session began (T2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The account.
    pub account: String,
    /// The effective principal, such as `user:account-1`.
    pub principal: String,
    /// When the session was begun, in Unix seconds.
    pub issued_at: u64,
}

/// Who presents a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller<'c> {
    /// The account.
    pub account: &'c str,
    /// The effective principal.
    pub principal: &'c str,
}

/// A token that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<C> {
    /// Whom it is for.
    pub binding: Binding,
    /// The key that signed it.
    pub key_id: String,
    /// What it says.
    pub claims: C,
}

impl<C> Verified<C> {
    /// Refuses a caller whom the token is not for.
    fn check_caller(binding: &Binding, caller: Caller<'_>) -> Result<(), Refusal> {
        if binding.account == caller.account && binding.principal == caller.principal {
            return Ok(());
        }
        Err(Refusal::new(ErrorCode::Unauthorized, "the token is for another caller"))
    }
}

/// The one thing that is told of a token that is no good.
fn invalid() -> Refusal {
    Refusal::new(ErrorCode::TokenInvalid, "the token is not valid here")
}

#[cfg(test)]
mod tests;
