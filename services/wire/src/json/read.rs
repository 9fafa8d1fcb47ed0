//! Reading the members of a message, by how they tell unset from set. `null` is unset everywhere.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};

use super::JsonType;

/// A member whose type's default means unset.
pub(crate) fn implicit<'de, J: JsonType, A: MapAccess<'de>>(slot: &mut J::Rust, map: &mut A) -> Result<(), A::Error> {
    if let Some(value) = map.next_value_seed(Nullable::<J>(PhantomData))? {
        *slot = value;
    }
    Ok(())
}

/// A message or an optional scalar.
pub(crate) fn explicit<'de, J: JsonType, A: MapAccess<'de>>(
    slot: &mut Option<J::Rust>,
    map: &mut A,
) -> Result<(), A::Error> {
    *slot = map.next_value_seed(Nullable::<J>(PhantomData))?;
    Ok(())
}

/// A member of a oneof, of which at most one may be there.
pub(crate) fn one_of<'de, J: JsonType, O, A: MapAccess<'de>>(
    slot: &mut Option<O>,
    name: &str,
    variant: impl FnOnce(J::Rust) -> O,
    map: &mut A,
) -> Result<(), A::Error> {
    let Some(value) = map.next_value_seed(Nullable::<J>(PhantomData))? else {
        return Ok(());
    };
    match slot.replace(variant(value)) {
        None => Ok(()),
        Some(_) => Err(A::Error::custom(format_args!("`{name}` cannot stand beside another member of its choice"))),
    }
}

/// Reads a value of a JSON type.
pub(crate) struct Seed<J>(PhantomData<J>);

impl<J> Seed<J> {
    /// Reads the next value.
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, J: JsonType> DeserializeSeed<'de> for Seed<J> {
    type Value = J::Rust;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<J::Rust, D::Error> {
        J::deserialize(deserializer)
    }
}

/// Reads a value of a JSON type, or `null`.
struct Nullable<J>(PhantomData<J>);

impl<'de, J: JsonType> DeserializeSeed<'de> for Nullable<J> {
    type Value = Option<J::Rust>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, J: JsonType> Visitor<'de> for Nullable<J> {
    type Value = Option<J::Rust>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        J::deserialize(deserializer).map(Some)
    }
}
