//! The names of registrations.

use super::RegistryError;

const MAX_BYTES: usize = 63;

/// Checks a name against `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`.
pub(super) fn check(name: &str) -> Result<(), RegistryError> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=MAX_BYTES).contains(&name.len()) && name.bytes().all(allowed);
    if fits && !name.starts_with('-') && !name.ends_with('-') { Ok(()) } else { Err(RegistryError::InvalidName) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_1_to_63_characters_and_no_dash_at_either_end() {
        for good in ["a", "0", "a-b", "a--b", &"a".repeat(63)] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "-", "-a", "a-", "A", "a_b", "a.b", "a b", "ä", "a\n", "a\0", &"a".repeat(64)] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
