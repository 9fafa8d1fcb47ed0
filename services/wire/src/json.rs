//! What the generated JSON code is made of: a type for each proto type that knows how its values are written and read,
//! and the list of a message's members, which the canonical writer and serde both walk.

mod composite;
pub(crate) mod read;
mod scalar;
mod serde_form;
mod structs;
mod timestamp;

use serde::de::MapAccess;
use serde::{Deserializer, Serializer};

use crate::canonical::{NotCanonical, Writer};
use crate::strict::Shape;

pub(crate) use composite::{List, Map, Message};
pub(crate) use scalar::{Bool, Bytes, Enum, Int32, Int64, NamedEnum, Text};
pub(crate) use serde_form::{deserialize_message, serialize_message};
pub(crate) use structs::{Struct, write_struct};
pub use timestamp::InvalidTimestamp;
pub(crate) use timestamp::Timestamp;

/// How the values of a proto type look in JSON.
pub(crate) trait JsonType {
    /// The Rust type of the values.
    type Rust;

    /// What their encoding may hide.
    const SHAPE: Shape = Shape::Scalar;

    /// Writes the canonical form.
    fn write(value: &Self::Rust, writer: &mut Writer<'_>) -> Result<(), NotCanonical>;

    /// Writes the JSON form.
    fn serialize<S: Serializer>(value: &Self::Rust, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads the JSON form, in every variant that proto3-JSON allows.
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Rust, D::Error>;
}

/// A generated message.
pub(crate) trait Members: Default {
    /// Full proto name.
    const NAME: &'static str;
    /// The names of all members, in canonical order.
    const MEMBERS: &'static [&'static str];

    /// The position of a member in [`Self::MEMBERS`] by its proto name or its lowerCamel name.
    fn position(name: &str) -> Option<usize>;

    /// What the field of a number may hide; `None` if there is no such field.
    fn shape(number: u32) -> Option<Shape>;

    /// Shows `visitor` the members that are set, in canonical order.
    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error>;

    /// Reads the value of the member at `position` from `map`.
    fn read<'de, A: MapAccess<'de>>(&mut self, position: usize, map: &mut A) -> Result<(), A::Error>;
}

/// Something that looks at the members of a message.
pub(crate) trait Visitor {
    /// Why it cannot go on.
    type Error;

    /// Takes the next member.
    fn member<J: JsonType>(&mut self, key: Key, value: &J::Rust) -> Result<(), Self::Error>;
}

/// The name of a member, in the two forms it is needed in.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// The name.
    pub(crate) name: &'static str,
    /// What the canonical form has before the member's value.
    pub(crate) prefix: &'static str,
}

/// The [`Key`] of a literal name.
macro_rules! key {
    ($name:literal) => {
        crate::json::Key { name: $name, prefix: concat!(",\"", $name, "\":") }
    };
}

/// The names of a generated enum.
macro_rules! named_enum {
    ($path:path, $proto:literal) => {
        impl crate::json::NamedEnum for $path {
            const NAME: &'static str = $proto;

            fn name(number: i32) -> Option<&'static str> {
                Self::try_from(number).ok().map(|value| value.as_str_name())
            }

            fn number(name: &str) -> Option<i32> {
                Self::from_str_name(name).map(i32::from)
            }
        }
    };
}

/// serde for a generated message.
macro_rules! serde_message {
    ($path:path) => {
        impl serde::Serialize for $path {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                crate::json::serialize_message(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $path {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json::deserialize_message(deserializer)
            }
        }
    };
}

pub(crate) use {key, named_enum, serde_message};
