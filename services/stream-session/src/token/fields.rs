//! The fields of a token's payload: id, length, bytes; ids ascending.

use uuid::Uuid;

use super::invalid;
use crate::Refusal;

/// Bytes before the content of a field.
pub(super) const HEADER: usize = 5;

/// Fields that are being read: those that nobody has asked for are left.
pub(super) struct Fields<'p> {
    left: Vec<(u8, &'p [u8])>,
}

impl<'p> Fields<'p> {
    /// Splits `bytes` into fields.
    pub(super) fn read(mut bytes: &'p [u8]) -> Result<Self, Refusal> {
        let mut left: Vec<(u8, &[u8])> = Vec::new();
        while let Some((&id, rest)) = bytes.split_first() {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(invalid)?;
            let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| invalid())?;
            let (content, rest) = rest.split_at_checked(length).ok_or_else(invalid)?;
            let ascends = left.last().is_none_or(|(last, _)| *last < id);
            if !ascends || content.is_empty() {
                return Err(invalid());
            }
            left.push((id, content));
            bytes = rest;
        }
        Ok(Self { left })
    }

    pub(super) fn bytes_if_any(&mut self, id: u8) -> Option<&'p [u8]> {
        let at = self.left.iter().position(|(found, _)| *found == id)?;
        Some(self.left.remove(at).1)
    }

    pub(super) fn bytes(&mut self, id: u8) -> Result<&'p [u8], Refusal> {
        self.bytes_if_any(id).ok_or_else(invalid)
    }

    pub(super) fn text_if_any(&mut self, id: u8) -> Result<Option<String>, Refusal> {
        let Some(bytes) = self.bytes_if_any(id) else { return Ok(None) };
        let text = str::from_utf8(bytes).map_err(|_| invalid())?;
        Ok(Some(text.to_owned()))
    }

    pub(super) fn text(&mut self, id: u8) -> Result<String, Refusal> {
        self.text_if_any(id)?.ok_or_else(invalid)
    }

    pub(super) fn number(&mut self, id: u8) -> Result<u64, Refusal> {
        self.array(id).map(u64::from_be_bytes)
    }

    pub(super) fn uuid(&mut self, id: u8) -> Result<Uuid, Refusal> {
        self.array(id).map(Uuid::from_bytes)
    }

    /// A field of exactly this length.
    pub(super) fn array<const N: usize>(&mut self, id: u8) -> Result<[u8; N], Refusal> {
        self.bytes(id)?.try_into().map_err(|_| invalid())
    }

    /// Refuses fields that nobody has asked for.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        if self.left.is_empty() { Ok(()) } else { Err(invalid()) }
    }
}

/// A payload that is being written, its fields in ascending order.
pub(super) struct Payload(Vec<u8>);

impl Payload {
    pub(super) fn new(kind: u8, key_id: &str) -> Self {
        let length = u8::try_from(key_id.len()).unwrap_or(u8::MAX);
        let mut bytes = vec![1, kind, length];
        bytes.extend_from_slice(key_id.as_bytes());
        Self(bytes)
    }

    pub(super) fn bytes(&mut self, id: u8, content: &[u8]) {
        self.0.push(id);
        self.0.extend_from_slice(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.0.extend_from_slice(content);
    }

    pub(super) fn text(&mut self, id: u8, text: &str) {
        self.bytes(id, text.as_bytes());
    }

    pub(super) fn number(&mut self, id: u8, number: u64) {
        self.bytes(id, &number.to_be_bytes());
    }

    pub(super) fn uuid(&mut self, id: u8, uuid: Uuid) {
        self.bytes(id, uuid.as_bytes());
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}
