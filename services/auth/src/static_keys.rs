//! Static keys: the file knows their digests only.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::Caller;

/// A key whose holder is known.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StaticKey {
    /// SHA-256 of the key.
    #[serde(deserialize_with = "digest")]
    sha256: [u8; 32],
    account: String,
    principal: String,
}

impl StaticKey {
    /// What is wrong with it.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let empty = self.account.is_empty() || self.principal.is_empty();
        empty.then_some("account and principal of a key must not be empty")
    }

    /// Whether both are of one key.
    pub(crate) fn is_same_key(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

/// Whose key it is. Takes as long whichever of `keys` it is, and however much of one it has guessed.
pub(crate) fn holder(keys: &[StaticKey], credential: &str) -> Option<Caller> {
    let presented: [u8; 32] = Sha256::digest(credential).into();
    let mut found = None;
    for key in keys {
        if key.sha256.ct_eq(&presented).into() {
            found = Some(key);
        }
    }
    found.map(|key| Caller { account: key.account.clone(), principal: key.principal.clone() })
}

fn digest<'de, D: serde::Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
    let text = String::deserialize(from)?;
    let mut digest = [0; 32];
    hex::decode_to_slice(&text, &mut digest)
        .map_err(|_| serde::de::Error::custom("sha256 must have 64 hexadecimal digits"))?;
    Ok(digest)
}
