//! The keys of a deployment, and signing and verifying with them (tokens.md sections 3 to 6).

use std::collections::HashMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::claims::Claims;
use super::fields::{Fields, HEADER, Payload};
use super::{AUDIENCE, Binding, Caller, PREFIX, Verified, invalid};
use crate::{ErrorCode, Refusal, limits};

/// What every signature is over first.
const DOMAIN: &str = "golem.agent-invocation.token.v1";
/// Bytes of a signature.
const SIGNATURE: usize = 32;
/// Fewest bytes of a key.
const KEY_BYTES: usize = 32;
/// Longest id of a key, in bytes.
const KEY_ID_BYTES: usize = 64;

/// A named key.
#[derive(Clone)]
pub struct Key {
    /// Names it in tokens.
    pub id: String,
    /// The secret.
    pub secret: Vec<u8>,
}

/// The keys of a deployment: one signs, all verify. Never shown.
#[derive(Clone)]
pub struct KeyRing {
    issuer: String,
    active: String,
    keys: HashMap<String, Hmac<Sha256>>,
}

/// Why keys make no ring (K1).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidKeyRing {
    /// The deployment has no name.
    #[error("the issuer is empty")]
    NoIssuer,
    /// An id that a token cannot hold.
    #[error("the id of a key must have 1 to {KEY_ID_BYTES} bytes")]
    KeyId,
    /// Two keys of one name.
    #[error("key {0} is there twice")]
    Repeated(String),
    /// A key that could be guessed.
    #[error("key {0} is shorter than {KEY_BYTES} bytes")]
    Short(String),
}

impl KeyRing {
    /// A ring for the deployment `issuer`, which signs with `active` and also accepts what `verify_only` have signed.
    ///
    /// # Errors
    /// [`InvalidKeyRing`].
    pub fn new(
        issuer: impl Into<String>,
        active: Key,
        verify_only: impl IntoIterator<Item = Key>,
    ) -> Result<Self, InvalidKeyRing> {
        let issuer = issuer.into();
        if issuer.is_empty() {
            return Err(InvalidKeyRing::NoIssuer);
        }
        let mut ring = Self { issuer, active: active.id.clone(), keys: HashMap::new() };
        ring.add(active)?;
        verify_only.into_iter().try_for_each(|key| ring.add(key))?;
        Ok(ring)
    }

    fn add(&mut self, key: Key) -> Result<(), InvalidKeyRing> {
        if key.id.is_empty() || key.id.len() > KEY_ID_BYTES {
            return Err(InvalidKeyRing::KeyId);
        }
        if key.secret.len() < KEY_BYTES {
            return Err(InvalidKeyRing::Short(key.id));
        }
        let Ok(mac) = Hmac::new_from_slice(&key.secret) else { return Err(InvalidKeyRing::Short(key.id)) };
        match self.keys.insert(key.id.clone(), mac) {
            None => Ok(()),
            Some(_) => Err(InvalidKeyRing::Repeated(key.id)),
        }
    }

    /// The id of the key that signs.
    #[must_use]
    pub fn active(&self) -> &str {
        &self.active
    }

    /// Whether there is such a key.
    #[must_use]
    pub fn holds(&self, key_id: &str) -> bool {
        self.keys.contains_key(key_id)
    }

    /// A token, signed by the active key.
    #[must_use]
    pub fn sign<C: Claims>(&self, binding: &Binding, claims: &C) -> String {
        self.signed(&self.keys[&self.active], &self.active, binding, claims)
    }

    /// A token, signed by a certain key: a stream's token must come out the same each time (T3).
    ///
    /// # Errors
    /// `token-invalid`, if the key is gone (K3).
    pub fn sign_with<C: Claims>(&self, key_id: &str, binding: &Binding, claims: &C) -> Result<String, Refusal> {
        let key = self.keys.get(key_id).ok_or_else(invalid)?;
        Ok(self.signed(key, key_id, binding, claims))
    }

    fn signed<C: Claims>(&self, key: &Hmac<Sha256>, key_id: &str, binding: &Binding, claims: &C) -> String {
        let mut payload = Payload::new(C::KIND, key_id);
        payload.text(1, &self.issuer);
        payload.text(2, AUDIENCE);
        payload.text(3, &binding.account);
        payload.text(4, &binding.principal);
        payload.number(5, binding.issued_at);
        claims.write(&mut payload);
        let mut bytes = payload.finish();
        let signature = mac::<C>(key, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&signature);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads and verifies a token that `caller` presents (section 4, steps 1 to 11).
    ///
    /// # Errors
    /// `resource-exhausted`, `token-invalid`, `unsupported-version` or `unauthorized`.
    pub fn verify<C: Claims>(&self, text: &str, caller: Caller<'_>) -> Result<Verified<C>, Refusal> {
        if text.len() > limits::TOKEN_BYTES {
            return Err(Refusal::exhausted("a token is too long"));
        }
        let encoded = text.strip_prefix(PREFIX).ok_or_else(invalid)?;
        let decoded = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| invalid())?;
        let (payload, signature) = decoded.split_last_chunk::<SIGNATURE>().ok_or_else(invalid)?;
        let (kind, key_id, fields) = envelope(payload)?;
        let key = self.keys.get(key_id).filter(|_| kind == C::KIND).ok_or_else(invalid)?;
        mac::<C>(key, payload).verify_slice(signature).map_err(|_| invalid())?;

        let mut fields = Fields::read(fields)?;
        let (issuer, audience) = (fields.text(1)?, fields.text(2)?);
        let binding = Binding { account: fields.text(3)?, principal: fields.text(4)?, issued_at: fields.number(5)? };
        if issuer != self.issuer || audience != AUDIENCE {
            return Err(invalid());
        }
        Verified::<C>::check_caller(&binding, caller)?;
        let claims = C::read(&mut fields)?;
        fields.finish()?;
        Ok(Verified { binding, key_id: key_id.to_owned(), claims })
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("active", &self.active).finish_non_exhaustive()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The kind, the id of the key and the fields of a payload.
fn envelope(payload: &[u8]) -> Result<(u8, &str, &[u8]), Refusal> {
    let (&version, rest) = payload.split_first().ok_or_else(invalid)?;
    if version != 1 {
        return Err(Refusal::new(ErrorCode::UnsupportedVersion, "the token has a format of another version"));
    }
    let (&[kind, length], rest) = rest.split_first_chunk::<2>().ok_or_else(invalid)?;
    let (key_id, fields) = rest.split_at_checked(usize::from(length)).ok_or_else(invalid)?;
    let sound = (1..=3).contains(&kind) && (1..=KEY_ID_BYTES).contains(&key_id.len()) && fields.len() >= HEADER;
    let key_id = str::from_utf8(key_id).ok().filter(|_| sound).ok_or_else(invalid)?;
    Ok((kind, key_id, fields))
}

/// The signature of a payload, unfinished.
fn mac<C: Claims>(key: &Hmac<Sha256>, payload: &[u8]) -> Hmac<Sha256> {
    key.clone().chain_update(DOMAIN).chain_update([0]).chain_update(C::WORD).chain_update([0]).chain_update(payload)
}
