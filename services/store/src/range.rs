//! Range reads.

use bytes::Bytes;

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
}

/// Keys from `begin` (inclusive) to `end` (exclusive), in byte order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// First key that may be returned.
    pub begin: Bytes,
    /// First key that may not.
    pub end: Bytes,
}

impl KeyRange {
    /// The range from `begin` to `end`.
    pub fn new(begin: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self { begin: begin.into(), end: end.into() }
    }

    /// Every key that starts with `prefix`, which must hold a byte other than 0xff.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let kept = prefix.iter().rposition(|&byte| byte != 0xff).map_or(0, |last| last + 1);
        let mut end = prefix[..kept].to_vec();
        match end.last_mut() {
            Some(last) => *last += 1,
            None => end.push(0xff),
        }
        Self::new(prefix.to_vec(), end)
    }

    /// Whether `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.begin <= key && key < &self.end[..]
    }
}

/// One read of a range: what to read, from which end, and how much at most.
#[derive(Clone, Debug)]
pub struct RangeRead {
    /// The keys to read.
    pub range: KeyRange,
    /// Last key first.
    pub reverse: bool,
    /// Most rows in the page; at least 1.
    pub limit: usize,
    /// Soft bound on the bytes of keys and values in the page: it ends with the row that reaches it.
    pub byte_limit: usize,
}

impl RangeRead {
    /// Reads forward, up to 1,000 rows or 1 MiB a page.
    #[must_use]
    pub fn forward(range: KeyRange) -> Self {
        Self { range, reverse: false, limit: 1_000, byte_limit: 1 << 20 }
    }

    /// Reads backward, with the same bounds.
    #[must_use]
    pub fn backward(range: KeyRange) -> Self {
        Self { reverse: true, ..Self::forward(range) }
    }

    /// Returns at most `limit` rows a page.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The read that follows `page`, if rows may be left.
    #[must_use]
    pub fn after(&self, page: &Page) -> Option<Self> {
        if !page.more {
            return None;
        }
        let last = &page.rows.last()?.key;
        let range = if self.reverse {
            KeyRange::new(self.range.begin.clone(), last.clone())
        } else {
            let mut begin = last.to_vec();
            begin.push(0);
            KeyRange::new(begin, self.range.end.clone())
        };
        Some(Self { range, ..self.clone() })
    }
}

/// The rows of one range read.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The rows, in the order asked for.
    pub rows: Vec<KeyValue>,
    /// Whether a limit ended the page: more rows may follow.
    pub more: bool,
}
