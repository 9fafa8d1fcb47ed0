//! The canonical form: RFC 8785 (JCS) applied to proto3-JSON with proto names.
//!
//! Unset fields are absent, and so are default scalars, empty lists and empty maps; an optional scalar that is present is
//! written even when it is zero. Adding a field to a message therefore never changes the text of an old value.

mod writer;

use thiserror::Error;

use crate::json::Members;
use crate::protobuf;

pub(crate) use writer::Writer;

/// How many messages may lie inside one another below the one that is written.
///
/// Whatever is written must be read back, inside of a record in an update or a stream frame. Protobuf decoders, ours among
/// them, give up at 100 levels by default, and JSON readers at 128, where two messages make up to three levels.
pub const MAX_DEPTH: u32 = 80;

/// Why a value has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotCanonical {
    /// JSON has no text for it.
    #[error("a number is infinite or not a number")]
    NotFinite,
    /// RFC 3339 has no text for it.
    #[error("a timestamp lies outside of the years 1 to 9999 or has nanoseconds outside of 0 to 999999999")]
    Timestamp,
    /// It is neither null nor anything else.
    #[error("a value in a struct or list has no kind")]
    NoKind,
    /// See [`MAX_DEPTH`].
    #[error("messages are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// A message that has a canonical form.
pub trait Canonical {
    /// Appends the canonical form to `out`.
    ///
    /// # Errors
    /// [`NotCanonical`]; what `out` then holds after its old content is of no use.
    fn write_canonical(&self, out: &mut Vec<u8>) -> Result<(), NotCanonical>;

    /// The canonical form as text.
    ///
    /// # Errors
    /// [`NotCanonical`].
    fn canonical_json(&self) -> Result<String, NotCanonical> {
        let mut out = Vec::new();
        self.write_canonical(&mut out)?;
        Ok(String::from_utf8(out).expect("invariant: strings are written whole and everything else is ASCII"))
    }
}

impl<M: Members> Canonical for M {
    fn write_canonical(&self, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
        Writer::new(out).object(|writer| self.visit(writer))
    }
}

impl Canonical for protobuf::Struct {
    fn write_canonical(&self, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
        crate::json::write_struct(self, &mut Writer::new(out))
    }
}
