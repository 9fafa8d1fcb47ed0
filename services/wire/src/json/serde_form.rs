//! The members of a message as a serde map, and back.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error, MapAccess};
use serde::ser::SerializeMap;
use serde::{Deserializer, Serialize, Serializer};

use super::{JsonType, Key, Members, Visitor};

/// Writes a message: the members that are set, in canonical order.
pub(crate) fn serialize_message<M: Members, S: Serializer>(message: &M, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = MapVisitor(serializer.serialize_map(None)?);
    message.visit(&mut map)?;
    map.0.end()
}

struct MapVisitor<S>(S);

impl<S: SerializeMap> Visitor for MapVisitor<S> {
    type Error = S::Error;

    fn member<J: JsonType>(&mut self, key: Key, value: &J::Rust) -> Result<(), S::Error> {
        self.0.serialize_entry(key.name, &AsJson::<J>(value))
    }
}

/// A value to be written as `J`.
pub(crate) struct AsJson<'a, J: JsonType>(pub(crate) &'a J::Rust);

impl<J: JsonType> Serialize for AsJson<'_, J> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        J::serialize(self.0, serializer)
    }
}

/// Reads a message. A member that the message does not have is refused: dropping it would change what is hashed.
pub(crate) fn deserialize_message<'de, M: Members, D: Deserializer<'de>>(deserializer: D) -> Result<M, D::Error> {
    deserializer.deserialize_map(Object::<M>(PhantomData))
}

struct Object<M>(PhantomData<M>);

impl<'de, M: Members> serde::de::Visitor<'de> for Object<M> {
    type Value = M;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of type {}", M::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<M, A::Error> {
        const { assert!(M::MEMBERS.len() <= u64::BITS as usize, "the members seen are kept as bits") };
        let mut message = M::default();
        let mut seen = 0_u64;
        while let Some(position) = map.next_key_seed(Position::<M>(PhantomData))? {
            let bit = 1 << position;
            if seen & bit != 0 {
                return Err(A::Error::duplicate_field(M::MEMBERS[position]));
            }
            seen |= bit;
            message.read(position, &mut map)?;
        }
        Ok(message)
    }
}

/// Reads the name of a member without copying it.
struct Position<M>(PhantomData<M>);

impl<'de, M: Members> DeserializeSeed<'de> for Position<M> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<M: Members> serde::de::Visitor<'_> for Position<M> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a member of {}", M::NAME)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        M::position(name).ok_or_else(|| E::unknown_field(name, M::MEMBERS))
    }
}
