//! The syntax of single fields (protocol.md 2.1).

use uuid::{Uuid, Variant};

/// Whether `text` is `0` or begins with another digit and has nothing but digits.
#[must_use]
pub fn is_unsigned_decimal(text: &str) -> bool {
    let canonical = text == "0" || !text.starts_with('0');
    canonical && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The same, or a minus before something else than `0`.
#[must_use]
pub fn is_signed_decimal(text: &str) -> bool {
    match text.strip_prefix('-') {
        Some(digits) => digits != "0" && is_unsigned_decimal(digits),
        None => is_unsigned_decimal(text),
    }
}

/// Whether `text` is a MIME type without parameters or wildcards.
#[must_use]
pub fn is_mime_type(text: &str) -> bool {
    let token = |part: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !part.is_empty() && part.bytes().all(legal)
    };
    text.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// Reads a lower-case hyphenated UUID of any version.
#[must_use]
pub fn uuid(text: &str) -> Option<Uuid> {
    let uuid = Uuid::try_parse(text).ok()?;
    // Every other form is written otherwise.
    (uuid.hyphenated().to_string() == text).then_some(uuid)
}

/// Reads a lower-case hyphenated UUID of version 4.
#[must_use]
pub fn uuid_v4(text: &str) -> Option<Uuid> {
    uuid(text).filter(|uuid| uuid.get_version_num() == 4 && uuid.get_variant() == Variant::RFC4122)
}
