//! A part of a store's keys under one prefix, so that several journals can share a FoundationDB cluster.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use thiserror::Error;

use crate::KeyRange;
use crate::limits::PREFIX_BYTES;

/// What FoundationDB's tuple encoding puts before a text, and after it.
const TEXT: u8 = 0x02;
const TEXT_END: u8 = 0x00;

/// Longest name: its encoding must fit into the prefix that the limits leave room for.
const NAME_BYTES: usize = PREFIX_BYTES - 2;

/// The keys that begin with a name; all keys by default. Journals of different subspaces do not see each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subspace {
    name: String,
    prefix: Vec<u8>,
}

/// A text does not name a subspace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not the name of a subspace: write 1 to {NAME_BYTES} letters, digits, dots, hyphens or underscores")]
pub struct InvalidSubspace(String);

impl Subspace {
    /// Its name; empty if it holds all keys.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where `key` of the subspace is in the store.
    #[must_use]
    pub fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }

    /// Where `range` of the subspace is in the store.
    #[must_use]
    pub fn range(&self, range: &KeyRange) -> KeyRange {
        KeyRange::new(self.key(&range.begin), self.key(&range.end))
    }

    /// The key of the subspace that is at `key` of the store, which must lie within a [range](Self::range) of it.
    #[must_use]
    pub fn strip(&self, key: &[u8]) -> Bytes {
        Bytes::copy_from_slice(&key[self.prefix.len()..])
    }
}

impl FromStr for Subspace {
    type Err = InvalidSubspace;

    fn from_str(name: &str) -> Result<Self, InvalidSubspace> {
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if !(1..=NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_legal) {
            return Err(InvalidSubspace(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), prefix: [&[TEXT], name.as_bytes(), &[TEXT_END]].concat() })
    }
}

impl fmt::Display for Subspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        let longest = "n".repeat(NAME_BYTES);
        for good in ["prod", "a.b-c_9", &longest] {
            assert_eq!(good.parse::<Subspace>().unwrap().to_string(), good);
        }
        assert_eq!(longest.parse::<Subspace>().unwrap().key(b"").len(), PREFIX_BYTES);
        for bad in ["", "a/b", "a b", "ä", &"n".repeat(NAME_BYTES + 1)] {
            assert!(bad.parse::<Subspace>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn keys_keep_their_order_and_read_back() {
        let subspace: Subspace = "prod".parse().unwrap();
        assert_eq!(subspace.key(b"k"), b"\x02prod\x00k");
        assert_eq!(&subspace.strip(&subspace.key(b"k"))[..], b"k");
        let all = subspace.range(&KeyRange::new(&b""[..], &b"\xff"[..]));
        assert!(all.contains(&subspace.key(b"")) && all.contains(&subspace.key(b"\xfe\xff")));
    }

    #[test]
    fn a_name_that_another_one_begins_with_shares_no_key_with_it() {
        let (short, long): (Subspace, Subspace) = ("a".parse().unwrap(), "ab".parse().unwrap());
        let of_short = short.range(&KeyRange::new(&b""[..], &b"\xff"[..]));
        assert!(!of_short.contains(&long.key(b"")) && !of_short.contains(&long.key(b"\xfe")));
    }

    #[test]
    fn the_default_holds_all_keys_as_they_are() {
        let all = Subspace::default();
        assert_eq!((all.name(), &all.key(b"k")[..], &all.strip(b"k")[..]), ("", &b"k"[..], &b"k"[..]));
    }
}
