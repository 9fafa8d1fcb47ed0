//! Scalars: strings, bytes, integers, booleans, enums.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

use super::JsonType;
use crate::canonical::{NotCanonical, Writer};
use crate::strict::Shape;

/// `string`.
pub(crate) enum Text {}

impl JsonType for Text {
    type Rust = String;

    fn write(value: &String, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.string(value);
        Ok(())
    }

    fn serialize<S: Serializer>(value: &String, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer)
    }
}

/// `bool`.
pub(crate) enum Bool {}

impl JsonType for Bool {
    type Rust = bool;

    fn write(value: &bool, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.raw(if *value { "true" } else { "false" });
        Ok(())
    }

    fn serialize<S: Serializer>(value: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*value)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        bool::deserialize(deserializer)
    }
}

/// `int32`: a number; read from a string too.
pub(crate) enum Int32 {}

impl JsonType for Int32 {
    type Rust = i32;

    fn write(value: &i32, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.integer(*value);
        Ok(())
    }

    fn serialize<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(*value)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        let wide = deserializer.deserialize_any(Integer)?;
        i32::try_from(wide).map_err(|_| Error::invalid_value(Unexpected::Signed(wide), &"a 32-bit integer"))
    }
}

/// `int64`: a decimal string, as a JSON number would lose digits above 2^53; read from a number too.
pub(crate) enum Int64 {}

impl JsonType for Int64 {
    type Rust = i64;

    fn write(value: &i64, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.quoted_integer(*value);
        Ok(())
    }

    fn serialize<S: Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(itoa::Buffer::new().format(*value))
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        deserializer.deserialize_any(Integer)
    }
}

/// Reads an integer from a number or a string. A number may have an exponent or a zero fraction, but only where a double
/// still says which integer was meant.
struct Integer;

impl Visitor<'_> for Integer {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer, as a number or a decimal string")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
        i64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<i64, E> {
        const FIRST_AMBIGUOUS: f64 = 9_007_199_254_740_992.0;
        match value.trunc() == value && value.abs() < FIRST_AMBIGUOUS {
            true => Ok(value as i64),
            false => Err(E::invalid_value(Unexpected::Float(value), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// `bytes`: standard base64 with padding; read in the URL-safe alphabet and without padding too.
pub(crate) enum Bytes {}

const LENIENT: GeneralPurposeConfig = NO_PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
const FROM_STANDARD: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const FROM_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

impl JsonType for Bytes {
    type Rust = Vec<u8>;

    fn write(value: &Vec<u8>, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.bytes(value);
        Ok(())
    }

    fn serialize<S: Serializer>(value: &Vec<u8>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&base64::display::Base64Display::new(value, &base64::prelude::BASE64_STANDARD))
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_str(Base64)
    }
}

struct Base64;

impl Visitor<'_> for Base64 {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        let engine = if text.contains(['-', '_']) { FROM_URL_SAFE } else { FROM_STANDARD };
        engine.decode(text).map_err(|_| E::custom("a string is not base64"))
    }
}

/// The names of an enum's numbers.
pub(crate) trait NamedEnum {
    /// Full proto name.
    const NAME: &'static str;

    /// The name of a number, if it has one.
    fn name(number: i32) -> Option<&'static str>;

    /// The number of a name.
    fn number(name: &str) -> Option<i32>;
}

/// An enum: by name, or as a number where it has none.
pub(crate) struct Enum<E>(PhantomData<E>);

impl<E: NamedEnum> JsonType for Enum<E> {
    type Rust = i32;

    const SHAPE: Shape = Shape::Enum(E::name);

    fn write(value: &i32, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        match E::name(*value) {
            // Enum names are identifiers: nothing to escape.
            Some(name) => ["\"", name, "\""].into_iter().for_each(|text| writer.raw(text)),
            None => writer.integer(*value),
        }
        Ok(())
    }

    fn serialize<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        match E::name(*value) {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_i32(*value),
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        deserializer.deserialize_any(EnumValue::<E>(PhantomData))
    }
}

struct EnumValue<E>(PhantomData<E>);

impl<E: NamedEnum> Visitor<'_> for EnumValue<E> {
    type Value = i32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a name or number of {}", E::NAME)
    }

    fn visit_str<X: Error>(self, name: &str) -> Result<i32, X> {
        E::number(name).ok_or_else(|| X::invalid_value(Unexpected::Str(name), &self))
    }

    fn visit_i64<X: Error>(self, number: i64) -> Result<i32, X> {
        i32::try_from(number).map_err(|_| X::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<X: Error>(self, number: u64) -> Result<i32, X> {
        i32::try_from(number).map_err(|_| X::invalid_value(Unexpected::Unsigned(number), &self))
    }
}
