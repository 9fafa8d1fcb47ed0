//! Strict JSON (protocol.md section 2): one value, read in one pass into a tree that borrows from the text.

mod parse;
mod write;

use std::borrow::Cow;

use crate::Refusal;
pub use write::{Writer, canonical};

/// A JSON value. Numbers keep their spelling, since some of it is forbidden in some places.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is spelt.
    Number(&'t str),
    /// A string, unescaped.
    String(Cow<'t, str>),
    /// An array.
    Array(Vec<Json<'t>>),
    /// An object.
    Object(Members<'t>),
}

/// The members of an object, in the order in which they came, with distinct names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members<'t>(Vec<(Cow<'t, str>, Json<'t>)>);

impl<'t> Json<'t> {
    /// Reads a text (J1, J3, J4), of at most [`limits::DEPTH`](crate::limits::DEPTH) levels and
    /// [`limits::COLLECTION`](crate::limits::COLLECTION) members or elements at one place.
    ///
    /// # Errors
    /// `malformed-message`, or `resource-exhausted` for a text beyond those limits.
    pub fn parse(text: &'t [u8]) -> Result<Self, Refusal> {
        parse::parse(text)
    }
}

impl<'t> Members<'t> {
    /// The member of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'t>> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'t>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
