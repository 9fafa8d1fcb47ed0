//! Reading the payloads of scalars and rich values (schema.md 1.1), with the codes of section 2, 11 to 17.

use std::str::FromStr;

use super::{Datetime, Value};
use crate::Refusal;
use crate::field;
use crate::graph::{NumberKind, Quantity, Shape};
use crate::json::{Json, Members};

/// Reads the payload of a scalar or rich value; `None` if `shape` is neither.
pub(super) fn read(shape: &Shape, payload: &Json<'_>) -> Option<Result<Value, Refusal>> {
    Some(match shape {
        Shape::Bool => payload.as_bool().map(Value::Bool).ok_or_else(wrong),
        Shape::Number(kind, _) => number(*kind, payload),
        Shape::Char => char_of(payload).map(Value::Char).ok_or_else(wrong),
        Shape::String => string(payload).map(Value::String),
        Shape::Text(_) => text(payload),
        Shape::Binary(_) => binary(payload),
        Shape::Path(_) => only(payload, "path").and_then(string).map(Value::Path),
        Shape::Url(_) => only(payload, "url").and_then(string).map(Value::Url),
        Shape::Datetime => datetime(payload),
        Shape::Duration => only(payload, "nanoseconds").and_then(signed).map(Value::Duration),
        Shape::Quantity(_) => quantity(payload),
        _ => return None,
    })
}

fn number(kind: NumberKind, payload: &Json<'_>) -> Result<Value, Refusal> {
    let signed = |value: Option<i64>| value.map(|value| Value::Signed(kind, value)).ok_or_else(wrong);
    let unsigned = |value: Option<u64>| value.map(|value| Value::Unsigned(kind, value)).ok_or_else(wrong);
    match kind {
        NumberKind::S8 => signed(payload.as_integer::<i8>().map(Into::into)),
        NumberKind::S16 => signed(payload.as_integer::<i16>().map(Into::into)),
        NumberKind::S32 => signed(payload.as_integer::<i32>().map(Into::into)),
        NumberKind::U8 => unsigned(payload.as_integer::<u8>().map(Into::into)),
        NumberKind::U16 => unsigned(payload.as_integer::<u16>().map(Into::into)),
        NumberKind::U32 => unsigned(payload.as_integer::<u32>().map(Into::into)),
        NumberKind::S64 => decimal(payload, field::is_signed_decimal).map(|value| Value::Signed(kind, value)),
        NumberKind::U64 => decimal(payload, field::is_unsigned_decimal).map(|value| Value::Unsigned(kind, value)),
        NumberKind::F64 => float(payload).map(Value::F64),
        NumberKind::F32 => {
            let double = float(payload)?;
            #[allow(clippy::cast_possible_truncation, reason = "rounding to single precision is what is asked for")]
            let single = double as f32;
            // A finite number that rounds to infinity is out of range.
            if single.is_infinite() && double.is_finite() { Err(wrong()) } else { Ok(Value::F32(single)) }
        }
    }
}

/// A float, which is a number or a word for what numbers cannot say.
fn float(payload: &Json<'_>) -> Result<f64, Refusal> {
    match payload {
        Json::Number(spelling) => spelling.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(wrong),
        Json::Object(_) => match only(payload, "$float")?.as_str() {
            Some("nan") => Ok(f64::NAN),
            Some("positive-infinity") => Ok(f64::INFINITY),
            Some("negative-infinity") => Ok(f64::NEG_INFINITY),
            _ => Err(Refusal::malformed("a float is not written as it must be")),
        },
        _ => Err(wrong()),
    }
}

/// A 64-bit integer as a canonical decimal string.
fn decimal<T: FromStr>(payload: &Json<'_>, is_canonical: impl Fn(&str) -> bool) -> Result<T, Refusal> {
    let text = payload.as_str().filter(|text| is_canonical(text));
    let text = text.ok_or_else(|| Refusal::malformed("a 64-bit integer is not a canonical decimal string"))?;
    text.parse().map_err(|_| wrong())
}

fn signed(payload: &Json<'_>) -> Result<i64, Refusal> {
    decimal(payload, field::is_signed_decimal)
}

fn char_of(payload: &Json<'_>) -> Option<char> {
    let mut chars = payload.as_str()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn text(payload: &Json<'_>) -> Result<Value, Refusal> {
    let members = object(payload)?;
    members.expect(&["text"], &["language"])?;
    let text = string(member(members, "text")?)?;
    Ok(Value::Text { text, language: members.get("language").map(string).transpose()? })
}

fn binary(payload: &Json<'_>) -> Result<Value, Refusal> {
    let members = object(payload)?;
    members.expect(&["bytes"], &["mimeType"])?;
    let bytes = member(members, "bytes")?.as_array().ok_or_else(wrong)?;
    let bytes = bytes.iter().map(Json::as_integer).collect::<Option<Vec<u8>>>().ok_or_else(wrong)?;
    let mime_type = members.get("mimeType").map(string).transpose()?;
    match &mime_type {
        Some(mime_type) if !field::is_mime_type(mime_type) => Err(wrong()),
        _ => Ok(Value::Binary { bytes, mime_type }),
    }
}

fn datetime(payload: &Json<'_>) -> Result<Value, Refusal> {
    let text = only(payload, "value")?.as_str();
    text.and_then(Datetime::parse).map(Value::Datetime).ok_or_else(wrong)
}

fn quantity(payload: &Json<'_>) -> Result<Value, Refusal> {
    let members = object(payload)?;
    members.expect(&["mantissa", "scale", "unit"], &[])?;
    let mantissa = signed(member(members, "mantissa")?)?;
    let scale = member(members, "scale")?.as_integer().ok_or_else(wrong)?;
    Ok(Value::Quantity(Quantity { mantissa, scale, unit: string(member(members, "unit")?)? }))
}

/// The members of a payload that must be an object.
pub(super) fn object<'j, 't>(payload: &'j Json<'t>) -> Result<&'j Members<'t>, Refusal> {
    payload.as_object().ok_or_else(wrong)
}

/// The only member of a payload.
pub(super) fn only<'j, 't>(payload: &'j Json<'t>, name: &str) -> Result<&'j Json<'t>, Refusal> {
    let members = object(payload)?;
    members.expect(&[name], &[])?;
    member(members, name)
}

/// A member that is known to be there.
pub(super) fn member<'j, 't>(members: &'j Members<'t>, name: &str) -> Result<&'j Json<'t>, Refusal> {
    members.get(name).ok_or_else(|| Refusal::malformed("a value lacks a member"))
}

fn string(payload: &Json<'_>) -> Result<String, Refusal> {
    payload.as_str().map(str::to_owned).ok_or_else(wrong)
}

/// Content that does not fit the type.
pub(super) fn wrong() -> Refusal {
    Refusal::invalid("a value is not of its type")
}
