//! Strict JSON (protocol.md section 2): one value, read in one pass into a tree that borrows from the text.

pub(crate) mod members;
mod parse;
mod skim;
mod write;

use std::borrow::Cow;
use std::str::FromStr;

use crate::{Refusal, limits};
pub(crate) use skim::skim;
pub use write::{Writer, canonical, pretty};

/// A JSON value. Numbers keep their spelling, since some of it is forbidden in some places.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is spelt.
    Number(Cow<'t, str>),
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
    /// Reads a text (J1, J3, J4), of at most [`limits::DEPTH`] levels and
    /// [`limits::COLLECTION`] members or elements at one place.
    ///
    /// # Errors
    /// `malformed-message`, or `resource-exhausted` for a text beyond those limits.
    pub fn parse(text: &'t [u8]) -> Result<Self, Refusal> {
        parse::parse(text, limits::DEPTH)
    }

    /// The same for a text that is no message: a schema of deeply nested values.
    #[cfg(test)]
    pub(crate) fn parse_deep(text: &'t str) -> Result<Self, Refusal> {
        parse::parse(text.as_bytes(), 10 * limits::DEPTH)
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(string) => Some(string),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Json<'t>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members, if it is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Members<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if it is a number without fraction or exponent, and without a minus before 0, that `T` can hold.
    #[must_use]
    pub fn as_integer<T: FromStr>(&self) -> Option<T> {
        match self {
            Self::Number(spelling) if spelling != "-0" => spelling.parse().ok(),
            _ => None,
        }
    }
}

impl<'t> FromIterator<(&'t str, Json<'t>)> for Members<'t> {
    /// The names must be distinct.
    fn from_iter<I: IntoIterator<Item = (&'t str, Json<'t>)>>(members: I) -> Self {
        Self(members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect())
    }
}

impl<'t> Members<'t> {
    /// The member of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'t>> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// Takes the member of this name out.
    pub fn take(&mut self, name: &str) -> Option<Json<'t>> {
        let at = self.0.iter().position(|(found, _)| found == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Refuses members that are missing or too many.
    ///
    /// # Errors
    /// `malformed-message`.
    pub fn expect(&self, required: &[&str], optional: &[&str]) -> Result<(), Refusal> {
        let missing = required.iter().any(|name| self.get(name).is_none());
        let known = |name: &str| required.contains(&name) || optional.contains(&name);
        if missing || (self.len() > required.len() && !self.iter().all(|(name, _)| known(name))) {
            return Err(Refusal::malformed("an object has not the members that it must have"));
        }
        Ok(())
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
