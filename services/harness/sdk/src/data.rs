//! Rust types as values of schemas.

mod scope;
mod values;

use bytes::Bytes;
use stream_session::value::{StreamRef, Value};
use thiserror::Error;
use wire::stream_item::Item;

pub use scope::Scope;
pub use values::Record;

use crate::{Input, Outlet};

/// A value is none of the Rust type that it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Mismatch(String);

/// Something that a method can return or send.
///
/// The type must fit the schema: a host fails the invocation of a method that sends anything else.
pub trait Encode: Sized + Send {
    /// As a value.
    fn into_value(self) -> Value;

    /// As an arm of a result, or as the result of a method, which may have none.
    fn into_arm(self) -> Option<Value> {
        Some(self.into_value())
    }

    /// As items of a stream: one, unless it is [`Bytes`], each of which is an item.
    fn into_items(self) -> Vec<Item> {
        vec![Item::Value(self.into_value().canonical())]
    }
}

/// Something that a method can be given.
pub trait Decode: Sized + Send {
    /// From a value.
    ///
    /// # Errors
    /// It is something else.
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch>;

    /// From an arm of a result, which may have none.
    ///
    /// # Errors
    /// It is something else.
    fn from_arm(value: Option<Value>, scope: &Scope) -> Result<Self, Mismatch> {
        value.ok_or_else(|| Mismatch::of::<Self>("nothing")).and_then(|value| Self::from_value(value, scope))
    }

    /// From some items of a stream of `u8`.
    ///
    /// # Errors
    /// It is something else.
    fn from_octets(_octets: Bytes) -> Result<Self, Mismatch> {
        Err(Mismatch::of::<Self>("octets"))
    }

    /// From an item of a stream of `binary`.
    ///
    /// # Errors
    /// It is something else.
    fn from_binary(_binary: Binary) -> Result<Self, Mismatch> {
        Err(Mismatch::of::<Self>("binary"))
    }
}

/// Bytes with a MIME type, if they have one: a value of kind `binary`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binary {
    /// The bytes.
    pub bytes: Bytes,
    /// What they are.
    pub mime_type: Option<String>,
}

impl Mismatch {
    /// This is what is wrong.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    fn of<T>(found: &str) -> Self {
        Self(format!("a value of kind {found} is no {}", std::any::type_name::<T>()))
    }
}

impl<T: Encode> Encode for Outlet<T> {
    fn into_value(self) -> Value {
        Value::Stream(StreamRef::Stable(self.name))
    }
}

impl<T: Decode> Decode for Input<T> {
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::Stream(StreamRef::Stable(name)) => {
                let element = scope.element(&name).ok_or_else(|| Mismatch::new("a stream is of another value"))?;
                Self::open(name, element, scope)
            }
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }
}
