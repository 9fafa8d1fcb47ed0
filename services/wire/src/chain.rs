//! The hash chain of a session: what a content hash is and how it is computed.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::Event;
use crate::canonical::{NotCanonical, Writer};
use crate::json::{JsonType, Message};

/// The hash of a record: SHA-256 over its event, its position and the hash of the record before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Takes the 32 bytes of a hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lowercase hex digits, as records carry it.
    #[must_use]
    pub fn hex(&self) -> String {
        // Records carry two of these each: `hex::encode` takes several times as long.
        let mut digits = [0; 64];
        hex::encode_to_slice(self.0, &mut digits).expect("invariant: 32 bytes have 64 digits");
        str::from_utf8(&digits).expect("invariant: digits are ASCII").to_owned()
    }

    /// Reads a `prev_hash`: empty before the first record.
    ///
    /// # Errors
    /// [`InvalidContentHash`].
    pub fn parse_prev(text: &str) -> Result<Option<Self>, InvalidContentHash> {
        if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// A text is not 64 lowercase hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not 64 lowercase hex digits")]
pub struct InvalidContentHash;

impl FromStr for ContentHash {
    type Err = InvalidContentHash;

    fn from_str(text: &str) -> Result<Self, InvalidContentHash> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidContentHash)?;
        let lowercase = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if lowercase { Ok(Self(bytes)) } else { Err(InvalidContentHash) }
    }
}

/// The content hash of `event` as record `seq` after the record with the hash `prev`, which only the first record lacks.
///
/// # Errors
/// [`NotCanonical`]: such an event cannot be in a journal.
pub fn content_hash(event: &Event, seq: u64, prev: Option<&ContentHash>) -> Result<ContentHash, NotCanonical> {
    Hasher::default().content_hash(event, seq, prev)
}

/// Computes content hashes one after the other in one buffer.
#[derive(Debug, Default)]
pub struct Hasher {
    text: Vec<u8>,
}

impl Hasher {
    /// [`content_hash`].
    ///
    /// # Errors
    /// [`NotCanonical`].
    pub fn content_hash(
        &mut self,
        event: &Event,
        seq: u64,
        prev: Option<&ContentHash>,
    ) -> Result<ContentHash, NotCanonical> {
        self.text.clear();
        write_envelope(&mut self.text, event, seq, prev)?;
        Ok(ContentHash(Sha256::digest(&self.text).into()))
    }
}

/// The text that is hashed.
fn write_envelope(out: &mut Vec<u8>, event: &Event, seq: u64, prev: Option<&ContentHash>) -> Result<(), NotCanonical> {
    let mut writer = Writer::new(out);
    writer.raw("{\"event\":");
    Message::<Event>::write(event, &mut writer)?;
    writer.raw(",\"prev_hash\":\"");
    if let Some(prev) = prev {
        writer.hex(&prev.0);
    }
    writer.raw("\",\"seq\":");
    writer.quoted_integer(seq);
    writer.raw("}");
    Ok(())
}
