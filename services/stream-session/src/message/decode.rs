//! What text messages of both directions have in common (protocol.md 4.1, steps 1 to 6 and 10).

use std::collections::HashSet;

use uuid::Uuid;

use super::{Node, Undecodable};
use crate::json::members::{integer, required, string, text, wrong};
use crate::json::{self, Json, Members};
use crate::{ErrorCode, Refusal, field, limits};

/// Reads a text as the members of a message, lets `read` make it one, and says of which attempt it is if that fails.
pub(super) fn decode<'t, T>(
    text: &'t [u8],
    read: impl FnOnce(&mut Members<'t>) -> Result<T, Refusal>,
) -> Result<T, Undecodable> {
    let undecodable = |refusal| Undecodable { refusal, attempt: None };
    let message = Json::parse(text).map_err(|refusal| {
        // The limits are no part of what an attempt has to keep to be told (V2).
        let beyond = refusal.code == ErrorCode::ResourceExhausted;
        let attempt = beyond.then(|| json::skim(text, "attemptId")).flatten();
        Undecodable { refusal, attempt: attempt.and_then(|text| field::uuid_v4(&text)) }
    })?;
    let Json::Object(mut members) = message else {
        return Err(undecodable(Refusal::malformed("a message is not an object")));
    };
    let attempt = members.get("attemptId").and_then(Json::as_str).and_then(field::uuid_v4);
    check_version(&members)
        .and_then(|()| check_decimals(&members))
        .and_then(|()| check_uuids(&members))
        .and_then(|()| read(&mut members))
        .map_err(|refusal| Undecodable { refusal, attempt })
}

/// Step 4.
pub(crate) fn check_version(members: &Members<'_>) -> Result<(), Refusal> {
    match members.get("version") {
        Some(Json::Number(version)) if version == "1" => Ok(()),
        Some(Json::Number(_)) => Err(Refusal::new(ErrorCode::UnsupportedVersion, "the version is not supported")),
        _ => Err(Refusal::malformed("a message has no version")),
    }
}

/// Step 5.
pub(crate) fn check_decimals(members: &Members<'_>) -> Result<(), Refusal> {
    let decimals = ["sequence", "itemCount", "highestContiguousSequence"];
    decimals.iter().filter_map(|name| members.get(name)).try_for_each(|value| decimal(value).map(drop))
}

/// Step 6.
fn check_uuids(members: &Members<'_>) -> Result<(), Refusal> {
    let phantom = members.get("selector").and_then(Json::as_object).and_then(|selector| selector.get("phantomId"));
    let mappings = members.get("mappings").and_then(Json::as_array).unwrap_or_default();
    let provisional = mappings.iter().filter_map(|mapping| mapping.as_object()?.get("provisionalRef"));
    let is_sound =
        |value: &Json<'_>, read: fn(&str) -> Option<Uuid>| value.as_str().is_none_or(|text| read(text).is_some());
    let sound = members.get("attemptId").is_none_or(|attempt| is_sound(attempt, field::uuid_v4))
        && phantom.is_none_or(|phantom| is_sound(phantom, field::uuid))
        && { provisional }.all(|reference| is_sound(reference, field::uuid_v4));
    if sound { Ok(()) } else { Err(Refusal::invalid("an id is not a UUID of the form that it must have")) }
}

/// An unsigned 64-bit integer as a decimal string.
pub(crate) fn decimal(value: &Json<'_>) -> Result<u64, Refusal> {
    let digits = value.as_str().filter(|text| field::is_unsigned_decimal(text));
    let digits = digits.ok_or_else(|| Refusal::malformed("a sequence is not a decimal string"))?;
    digits.parse().map_err(|_| Refusal::new(ErrorCode::InvalidSequence, "a sequence is beyond 64 bits"))
}

/// A UUID whose form was checked before.
pub(super) fn uuid(value: &Json<'_>) -> Result<Uuid, Refusal> {
    text(value).and_then(|text| field::uuid(text).ok_or_else(|| Refusal::invalid("an id is not a UUID")))
}

/// A member that is a value node, which is looked at when its type is known.
pub(super) fn node<'t>(members: &mut Members<'t>, name: &str) -> Result<Node<'t>, Refusal> {
    members.take(name).map(Node::Json).ok_or_else(wrong)
}

/// A word of an enumeration.
pub(super) fn word<T>(parse: impl Fn(&str) -> Option<T>) -> impl FnOnce(&Json<'_>) -> Result<T, Refusal> {
    move |value| parse(text(value)?).ok_or_else(|| Refusal::malformed("a word is not one of those that are known"))
}

/// The channel of a message; its number is checked last.
pub(super) fn channel(members: &Members<'_>) -> Result<u32, Refusal> {
    required(members, "channel", integer)
}

/// Step 13.
pub(crate) fn check_channel(channel: u32) -> Result<(), Refusal> {
    if channel == 0 { Err(Refusal::new(ErrorCode::InvalidChannel, "channel 0 is none")) } else { Ok(()) }
}

/// Step 10, for one token.
pub(crate) fn check_token(token: &str) -> Result<(), Refusal> {
    match token.len() {
        0 => Err(Refusal::new(ErrorCode::TokenInvalid, "a token is empty")),
        1..=limits::TOKEN_BYTES => Ok(()),
        _ => Err(Refusal::exhausted("a token is too long")),
    }
}

/// Step 8, for the key.
pub(super) fn check_key(key: &str) -> Result<(), Refusal> {
    match key.len() {
        1..=limits::IDEMPOTENCY_KEY_BYTES => Ok(()),
        _ => Err(Refusal::invalid("an idempotency key must have 1 to 1024 bytes")),
    }
}

/// Step 11.
pub(super) fn check_cursors(cursors: &[String]) -> Result<(), Refusal> {
    cursors.iter().try_for_each(|cursor| check_token(cursor))?;
    let mut seen = HashSet::new();
    match cursors.iter().all(|cursor| seen.insert(cursor)) {
        true => Ok(()),
        false => Err(Refusal::new(ErrorCode::InvalidCursor, "a cursor is there twice")),
    }
}

/// An error code in a message.
pub(super) fn code(value: &Json<'_>) -> Result<ErrorCode, Refusal> {
    word(ErrorCode::parse)(value)
}

/// The code and the words of an error.
pub(super) fn error(members: &Members<'_>) -> Result<(ErrorCode, String), Refusal> {
    members.expect(&["code", "kind", "message"], &[])?;
    Ok((required(members, "code", code)?, required(members, "message", string)?))
}
