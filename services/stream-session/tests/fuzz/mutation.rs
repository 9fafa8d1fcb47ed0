//! How what is sound becomes what is nearly right.

use proptest::prelude::*;
use proptest::sample::Index;

/// One change to some bytes.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Another byte here.
    Set(Index, u8),
    /// Another bit here.
    Flip(Index, u8),
    /// So many bytes less from here on.
    Remove(Index, usize),
    /// These bytes again, so often.
    Repeat(Index, usize, usize),
    /// A word that means something to a decoder, in between or in the place of as many bytes.
    Word(Index, &'static [u8], bool),
    /// The rest of another seed from there on.
    Splice(Index, Index, Index),
    /// Nothing from here on.
    Cut(Index),
}

const WORDS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"null",
    b"true",
    b"0",
    b"-0",
    b"1.0",
    b"1e400",
    b"-1",
    b"256",
    b"4294967296",
    b"\"18446744073709551615\"",
    b"\"18446744073709551616\"",
    b"9223372036854775808",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x40\x00",
    b"\"kind\":\"stream\"",
    b"\"kind\":\"option\"",
    b"\"kind\":\"ref\"",
    b"\"kind\":\"secret\"",
    b"\"inner\":null",
    b"\"value\":",
    b"\"version\":1,",
    b"\"provisionalRef\"",
    b"\"streamToken\"",
    b"\"type\":\"inputStreamItem\"",
    b"\"mappings\":[]",
    b"\"$float\":\"nan\"",
    b"gai1_",
];

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    let word = prop::sample::select(WORDS);
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => (at(), 0_u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        1 => (at(), 1_usize..20).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => (at(), 1_usize..40, 1_usize..8).prop_map(|(at, count, times)| Change::Repeat(at, count, times)),
        4 => (at(), word, any::<bool>()).prop_map(|(at, word, instead)| Change::Word(at, word, instead)),
        1 => (at(), at(), at()).prop_map(|(at, seed, from)| Change::Splice(at, seed, from)),
        1 => at().prop_map(Change::Cut),
    ]
}

/// `seed` after these changes.
pub(crate) fn changed(seed: &[u8], seeds: &[Vec<u8>], changes: &[Change]) -> Vec<u8> {
    changes.iter().fold(seed.to_vec(), |bytes, change| apply(bytes, seeds, change))
}

fn apply(mut bytes: Vec<u8>, seeds: &[Vec<u8>], change: &Change) -> Vec<u8> {
    // One place more than there are bytes: the end.
    let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
    match change {
        Change::Set(at, byte) if !bytes.is_empty() => *at.get_mut(&mut bytes) = *byte,
        Change::Flip(at, bit) if !bytes.is_empty() => *at.get_mut(&mut bytes) ^= 1 << bit,
        Change::Set(..) | Change::Flip(..) => {}
        Change::Remove(at, count) => {
            let from = place(at, &bytes);
            let to = (from + count).min(bytes.len());
            bytes.drain(from..to);
        }
        Change::Repeat(at, count, times) => {
            let from = place(at, &bytes);
            let again = bytes[from..(from + count).min(bytes.len())].repeat(*times);
            bytes.splice(from..from, again);
        }
        Change::Word(at, word, instead) => {
            let from = place(at, &bytes);
            let to = if *instead { (from + word.len()).min(bytes.len()) } else { from };
            bytes.splice(from..to, word.iter().copied());
        }
        Change::Splice(at, seed, from) => {
            let other = seed.get(seeds);
            bytes.truncate(place(at, &bytes));
            bytes.extend_from_slice(&other[place(from, other)..]);
        }
        Change::Cut(at) => bytes.truncate(place(at, &bytes)),
    }
    bytes
}
