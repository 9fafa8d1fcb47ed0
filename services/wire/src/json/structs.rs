//! `google.protobuf.Struct`, `Value` and `ListValue`: plain JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::JsonType;
use crate::canonical::{NotCanonical, Writer};
use crate::protobuf::value::Kind;
use crate::protobuf::{self, ListValue, NullValue, Value};
use crate::strict::Shape;

/// `google.protobuf.Struct` as a member.
pub(crate) enum Struct {}

impl JsonType for Struct {
    type Rust = protobuf::Struct;

    const SHAPE: Shape = Shape::Opaque;

    fn write(value: &protobuf::Struct, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.nested(|writer| write_struct(value, writer))
    }

    fn serialize<S: Serializer>(value: &protobuf::Struct, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<protobuf::Struct, D::Error> {
        protobuf::Struct::deserialize(deserializer)
    }
}

/// Writes the canonical form of a struct. Levels are counted as a protobuf decoder counts them: each entry of a map is a
/// message too.
pub(crate) fn write_struct(value: &protobuf::Struct, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
    writer.object(|writer| {
        writer.nested(|writer| {
            in_utf16_order(&value.fields, |name, value| {
                writer.name(name);
                write_value(value, writer)
            })
        })
    })
}

fn write_value(value: &Value, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
    writer.nested(|writer| {
        match value.kind.as_ref().ok_or(NotCanonical::NoKind)? {
            Kind::NullValue(_) => writer.raw("null"),
            Kind::BoolValue(value) => writer.raw(if *value { "true" } else { "false" }),
            Kind::StringValue(text) => writer.string(text),
            Kind::NumberValue(number) => writer.double(*number)?,
            Kind::StructValue(value) => writer.nested(|writer| write_struct(value, writer))?,
            Kind::ListValue(list) => {
                writer.nested(|writer| writer.list(&list.values, |writer, item| write_value(item, writer)))?
            }
        }
        Ok(())
    })
}

/// Shows `visit` the entries of a map by the UTF-16 code units of their names, as RFC 8785 wants them.
///
/// The map has them by UTF-8 bytes. The two orders differ only where a name holds a character beyond U+FFFF (in UTF-16 a
/// surrogate, which sorts before U+E000), so only then is anything sorted.
pub(crate) fn in_utf16_order<T>(
    map: &BTreeMap<String, T>,
    mut visit: impl FnMut(&str, &T) -> Result<(), NotCanonical>,
) -> Result<(), NotCanonical> {
    if !map.keys().any(|name| is_beyond_bmp(name)) {
        return map.iter().try_for_each(|(name, value)| visit(name, value));
    }
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    entries.into_iter().try_for_each(|(name, value)| visit(name, value))
}

fn is_beyond_bmp(name: &str) -> bool {
    name.bytes().fold(false, |any, byte| any | (byte >= 0xf0))
}

impl Serialize for protobuf::Struct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.fields)
    }
}

impl Serialize for ListValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.values)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            None => Err(serde::ser::Error::custom(NotCanonical::NoKind)),
            Some(Kind::NullValue(_)) => serializer.serialize_unit(),
            Some(Kind::BoolValue(value)) => serializer.serialize_bool(*value),
            Some(Kind::StringValue(text)) => serializer.serialize_str(text),
            Some(Kind::NumberValue(number)) => serialize_number(*number, serializer),
            Some(Kind::StructValue(value)) => value.serialize(serializer),
            Some(Kind::ListValue(list)) => list.serialize(serializer),
        }
    }
}

/// Whole numbers without a fraction, which is how people and most readers expect them.
fn serialize_number<S: Serializer>(number: f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let negative_zero = number == 0.0 && number.is_sign_negative();
    if !number.is_finite() {
        Err(serde::ser::Error::custom(NotCanonical::NotFinite))
    } else if number.fract() == 0.0 && number.abs() <= EXACT && !negative_zero {
        serializer.serialize_i64(number as i64)
    } else {
        serializer.serialize_f64(number)
    }
}

impl<'de> Deserialize<'de> for protobuf::Struct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StructVisitor)
    }
}

impl<'de> Deserialize<'de> for ListValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { values: Vec::deserialize(deserializer)? })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(|kind| Self { kind: Some(kind) })
    }
}

struct StructVisitor;

impl<'de> Visitor<'de> for StructVisitor {
    type Value = protobuf::Struct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<protobuf::Struct, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry()? {
            if fields.insert(name, value).is_some() {
                return Err(A::Error::custom("an object has the same name twice"));
            }
        }
        Ok(protobuf::Struct { fields })
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::NullValue(NullValue::NullValue.into()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::BoolValue(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::NumberValue(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::NumberValue(value as f64))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::NumberValue(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::StringValue(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Kind, E> {
        Ok(Kind::StringValue(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Kind::ListValue(ListValue { values }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Kind, A::Error> {
        StructVisitor.visit_map(map).map(Kind::StructValue)
    }
}
