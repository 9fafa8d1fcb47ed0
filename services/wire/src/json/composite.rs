//! Messages, lists and maps.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serializer};

use super::read::Seed;
use super::serde_form::AsJson;
use super::structs::in_utf16_order;
use super::{JsonType, Members, deserialize_message, serialize_message};
use crate::canonical::{NotCanonical, Writer};
use crate::strict::{self, Shape};

/// A generated message.
pub(crate) struct Message<M>(PhantomData<M>);

impl<M: Members> JsonType for Message<M> {
    type Rust = M;

    const SHAPE: Shape = Shape::Message(strict::check::<M>);

    fn write(value: &M, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.nested(|writer| writer.object(|writer| value.visit(writer)))
    }

    fn serialize<S: Serializer>(value: &M, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_message(value, serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<M, D::Error> {
        deserialize_message(deserializer)
    }
}

/// `repeated`.
pub(crate) struct List<J>(PhantomData<J>);

impl<J: JsonType> JsonType for List<J> {
    type Rust = Vec<J::Rust>;

    const SHAPE: Shape = J::SHAPE;

    fn write(value: &Vec<J::Rust>, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.list(value, |writer, item| J::write(item, writer))
    }

    fn serialize<S: Serializer>(value: &Vec<J::Rust>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(value.len()))?;
        value.iter().try_for_each(|item| list.serialize_element(&AsJson::<J>(item)))?;
        list.end()
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<J::Rust>, D::Error> {
        deserializer.deserialize_seq(Items::<J>(PhantomData))
    }
}

struct Items<J>(PhantomData<J>);

impl<'de, J: JsonType> Visitor<'de> for Items<J> {
    type Value = Vec<J::Rust>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Seed::<J>::new())? {
            items.push(item);
        }
        Ok(items)
    }
}

/// `map<string, …>`.
pub(crate) struct Map<J>(PhantomData<J>);

impl<J: JsonType> JsonType for Map<J> {
    type Rust = BTreeMap<String, J::Rust>;

    const SHAPE: Shape = Shape::Opaque;

    fn write(value: &Self::Rust, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.object(|writer| {
            writer.nested(|writer| {
                in_utf16_order(value, |name, value| {
                    writer.name(name);
                    J::write(value, writer)
                })
            })
        })
    }

    fn serialize<S: Serializer>(value: &Self::Rust, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(value.len()))?;
        value.iter().try_for_each(|(name, value)| map.serialize_entry(name, &AsJson::<J>(value)))?;
        map.end()
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Rust, D::Error> {
        deserializer.deserialize_map(Entries::<J>(PhantomData))
    }
}

struct Entries<J>(PhantomData<J>);

impl<'de, J: JsonType> Visitor<'de> for Entries<J> {
    type Value = BTreeMap<String, J::Rust>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Seed::<J>::new())?;
            if entries.insert(name, value).is_some() {
                return Err(serde::de::Error::custom("a map has the same name twice"));
            }
        }
        Ok(entries)
    }
}
