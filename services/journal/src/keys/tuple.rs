//! FoundationDB's tuple encoding of texts, byte strings, unsigned integers and UUIDs: keys sort as the tuples they encode
//! do, and its tools can read them.

use bytes::Bytes;
use uuid::Uuid;

const BYTES: u8 = 0x01;
const TEXT: u8 = 0x02;
const UUID: u8 = 0x30;
/// Code of the integer 0; one that needs `n` bytes has this plus `n`.
const ZERO: u8 = 0x14;
const LONGEST: u8 = ZERO + 8;

/// Builds the encoding of one tuple.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tuple(Vec<u8>);

impl Tuple {
    /// Appends a text element.
    pub(crate) fn text(self, text: &str) -> Self {
        self.escaped(TEXT, text.as_bytes())
    }

    /// Appends a byte string.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.escaped(BYTES, bytes)
    }

    fn escaped(mut self, code: u8, bytes: &[u8]) -> Self {
        self.0.push(code);
        for &byte in bytes {
            self.0.push(byte);
            if byte == 0 {
                // A terminator is never followed by 0xff, so an escaped NUL cannot be taken for one.
                self.0.push(0xff);
            }
        }
        self.0.push(0);
        self
    }

    /// Appends an integer element.
    pub(crate) fn uint(mut self, number: u64) -> Self {
        let skipped = number.leading_zeros() / 8;
        self.0.push(LONGEST - skipped as u8);
        self.0.extend_from_slice(&number.to_be_bytes()[skipped as usize..]);
        self
    }

    /// Appends a UUID.
    pub(crate) fn uuid(mut self, uuid: Uuid) -> Self {
        self.0.push(UUID);
        self.0.extend_from_slice(uuid.as_bytes());
        self
    }

    /// The encoding.
    pub(crate) fn key(self) -> Bytes {
        self.0.into()
    }

    /// The first key after every tuple that extends this one.
    pub(crate) fn end(mut self) -> Bytes {
        self.0.push(0xff);
        self.0.into()
    }
}

/// Reads the elements of an encoded tuple, first to last.
#[derive(Debug)]
pub(crate) struct TupleReader<'a>(&'a [u8]);

impl<'a> TupleReader<'a> {
    /// Reads `key` from its start.
    pub(crate) fn new(key: &'a [u8]) -> Self {
        Self(key)
    }

    /// The next element if it is a text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let escaped = self.escaped_text()?;
        let mut text = Vec::with_capacity(escaped.len());
        let mut bytes = escaped.iter();
        while let Some(&byte) = bytes.next() {
            text.push(byte);
            if byte == 0 {
                bytes.next();
            }
        }
        String::from_utf8(text).ok()
    }

    /// Passes over the next element if it is a text.
    pub(crate) fn skip_text(&mut self) -> Option<()> {
        self.escaped_text().map(|_| ())
    }

    fn escaped_text(&mut self) -> Option<&'a [u8]> {
        let (&TEXT, rest) = self.0.split_first()? else { return None };
        let mut from = 0;
        loop {
            let nul = from + rest[from..].iter().position(|&byte| byte == 0)?;
            if rest.get(nul + 1) != Some(&0xff) {
                self.0 = &rest[nul + 1..];
                return Some(&rest[..nul]);
            }
            from = nul + 2;
        }
    }

    /// The next element if it is an integer.
    pub(crate) fn uint(&mut self) -> Option<u64> {
        let (&code, rest) = self.0.split_first()?;
        let width = usize::from(code.checked_sub(ZERO).filter(|_| code <= LONGEST)?);
        let (digits, rest) = rest.split_at_checked(width)?;
        self.0 = rest;
        Some(digits.iter().fold(0, |number, &digit| number << 8 | u64::from(digit)))
    }

    /// The next element if it is a UUID.
    pub(crate) fn uuid(&mut self) -> Option<Uuid> {
        let (&UUID, rest) = self.0.split_first()? else { return None };
        let (uuid, rest) = rest.split_first_chunk()?;
        self.0 = rest;
        Some(Uuid::from_bytes(*uuid))
    }

    /// Whether every element has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Element {
        Bytes(Vec<u8>),
        Text(String),
        Uint(u64),
        Uuid(u128),
    }

    fn append(tuple: Tuple, element: &Element) -> Tuple {
        match element {
            Element::Bytes(bytes) => tuple.bytes(bytes),
            Element::Text(text) => tuple.text(text),
            Element::Uint(number) => tuple.uint(*number),
            Element::Uuid(number) => tuple.uuid(Uuid::from_u128(*number)),
        }
    }

    fn encode(elements: &[Element]) -> Bytes {
        elements.iter().fold(Tuple::default(), append).key()
    }

    fn element() -> impl Strategy<Value = Element> {
        let text = proptest::collection::vec(prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), any::<char>()], 0..5);
        prop_oneof![
            text.prop_map(|chars| Element::Text(chars.into_iter().collect())),
            proptest::collection::vec(prop_oneof![Just(0), Just(0xff), any::<u8>()], 0..5).prop_map(Element::Bytes),
            any::<u128>().prop_map(Element::Uuid),
            any::<u64>().prop_map(Element::Uint),
            (0..4_u64).prop_map(Element::Uint),
            (0..64_u32).prop_map(|shift| Element::Uint(1 << shift)),
        ]
    }

    proptest! {
        #[test]
        fn keys_sort_as_their_tuples(
            left in proptest::collection::vec(element(), 0..4),
            right in proptest::collection::vec(element(), 0..4),
        ) {
            prop_assert_eq!(encode(&left).cmp(&encode(&right)), left.cmp(&right));
        }

        #[test]
        fn every_tuple_reads_back(elements in proptest::collection::vec(element(), 0..6)) {
            let key = encode(&elements);
            let mut reader = TupleReader::new(&key);
            for element in &elements {
                match element {
                    Element::Text(text) => prop_assert_eq!(reader.text(), Some(text.clone())),
                    Element::Uint(number) => prop_assert_eq!(reader.uint(), Some(*number)),
                    Element::Uuid(number) => prop_assert_eq!(reader.uuid(), Some(Uuid::from_u128(*number))),
                    // Stands only where a whole key is looked up.
                    Element::Bytes(_) => return Ok(()),
                }
            }
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let _ = TupleReader::new(&bytes).text();
            let _ = TupleReader::new(&bytes).skip_text();
            let _ = TupleReader::new(&bytes).uint();
            let _ = TupleReader::new(&bytes).uuid();
        }

        #[test]
        fn extensions_of_a_tuple_lie_before_its_end(prefix in element(), rest in element()) {
            let tuple = append(Tuple::default(), &prefix);
            let longer = encode(&[prefix, rest]);
            prop_assert!(tuple.clone().key() < longer);
            prop_assert!(longer < tuple.end());
        }
    }

    #[test]
    fn encodings_are_those_of_the_tuple_layer() {
        assert_eq!(Tuple::default().text("a\0b").key()[..], b"\x02a\x00\xffb\x00"[..]);
        assert_eq!(Tuple::default().bytes(b"a\0b").key()[..], b"\x01a\x00\xffb\x00"[..]);
        assert_eq!(Tuple::default().uuid(Uuid::from_u128(1)).key()[..], b"\x30\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"[..]);
        assert_eq!(Tuple::default().uint(0).key()[..], b"\x14"[..]);
        assert_eq!(Tuple::default().uint(255).key()[..], b"\x15\xff"[..]);
        assert_eq!(Tuple::default().uint(256).key()[..], b"\x16\x01\x00"[..]);
        assert_eq!(Tuple::default().uint(u64::MAX).key()[..], b"\x1c\xff\xff\xff\xff\xff\xff\xff\xff"[..]);
    }
}
