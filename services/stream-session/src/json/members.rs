//! Reading members: whatever is missing or of another type is `malformed-message`.

use std::str::FromStr;

use super::{Json, Members};
use crate::Refusal;

/// A member that must be there.
pub(crate) fn required<'j, 't, T>(
    of: &'j Members<'t>,
    name: &str,
    read: impl FnOnce(&'j Json<'t>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    of.get(name).ok_or_else(wrong).and_then(read)
}

/// A member that may be there.
pub(crate) fn optional<'j, 't, T>(
    of: &'j Members<'t>,
    name: &str,
    read: impl FnOnce(&'j Json<'t>) -> Result<T, Refusal>,
) -> Result<Option<T>, Refusal> {
    of.get(name).map(read).transpose()
}

/// A member that is an array.
pub(crate) fn many<'t, T>(
    of: &Members<'t>,
    name: &str,
    read: impl Fn(&Json<'t>) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    required(of, name, |elements| list(elements, read))
}

pub(crate) fn list<'t, T>(json: &Json<'t>, read: impl Fn(&Json<'t>) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
    json.as_array().ok_or_else(wrong)?.iter().map(read).collect()
}

pub(crate) fn strings(json: &Json<'_>) -> Result<Vec<String>, Refusal> {
    list(json, string)
}

pub(crate) fn object<'j, 't>(json: &'j Json<'t>) -> Result<&'j Members<'t>, Refusal> {
    json.as_object().ok_or_else(wrong)
}

pub(crate) fn text<'j>(json: &'j Json<'_>) -> Result<&'j str, Refusal> {
    json.as_str().ok_or_else(wrong)
}

pub(crate) fn string(json: &Json<'_>) -> Result<String, Refusal> {
    text(json).map(str::to_owned)
}

pub(crate) fn integer<T: FromStr>(json: &Json<'_>) -> Result<T, Refusal> {
    json.as_integer().ok_or_else(wrong)
}

pub(crate) fn boolean(json: &Json<'_>) -> Result<bool, Refusal> {
    json.as_bool().ok_or_else(wrong)
}

pub(crate) fn wrong() -> Refusal {
    Refusal::malformed("a member is not of the form that it must have")
}
