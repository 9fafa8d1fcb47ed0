//! The digest of a stream: SHA-256 of its items, one after the other. Of octets, these; of a value, its normal form and a
//! newline; of a binary item, its MIME type, a newline, its size in decimal digits, a newline, and its data.

use journal::invocations::FrameItem;
use sha2::{Digest, Sha256};

/// The digest of a stream up to some item.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamDigest {
    sha256: Sha256,
    count: u64,
}

impl StreamDigest {
    /// Adds what comes next.
    pub(crate) fn add(&mut self, item: &FrameItem) {
        match item {
            FrameItem::Octets(octets) => {
                self.sha256.update(octets);
                self.count += octets.len() as u64;
                return;
            }
            FrameItem::Value(text) => {
                self.sha256.update(text);
                self.sha256.update("\n");
            }
            FrameItem::Binary { data, mime } => {
                self.sha256.update(format!("{}\n{}\n", mime.as_deref().unwrap_or_default(), data.len()));
                self.sha256.update(data);
            }
        }
        self.count += 1;
    }

    /// How many items it covers.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The digest.
    pub(crate) fn finish(self) -> [u8; 32] {
        self.sha256.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn of(items: &[FrameItem]) -> String {
        let mut digest = StreamDigest::default();
        items.iter().for_each(|item| digest.add(item));
        hex::encode(digest.finish())
    }

    #[test]
    fn octets_are_digested_as_one_however_they_are_cut() {
        let octets = |bytes: &'static [u8]| FrameItem::Octets(Bytes::from_static(bytes));
        let whole = of(&[octets(b"abcde")]);
        assert_eq!(of(&[octets(b"ab"), octets(b"cde")]), whole);
        assert_eq!(whole, hex::encode(Sha256::digest("abcde")));
    }

    #[test]
    fn the_borders_of_other_items_count() {
        let value = |text: &str| FrameItem::Value(text.into());
        assert_eq!(of(&[value("1"), value("2")]), hex::encode(Sha256::digest("1\n2\n")));
        let binary = |data: &'static [u8], mime: Option<&str>| FrameItem::Binary {
            data: Bytes::from_static(data),
            mime: mime.map(str::to_owned),
        };
        assert_eq!(
            of(&[binary(b"ab", Some("a/b")), binary(b"", None)]),
            hex::encode(Sha256::digest("a/b\n2\nab\n0\n"))
        );
    }
}
