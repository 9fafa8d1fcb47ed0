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

    /// The range that holds `key` and nothing else.
    #[must_use]
    pub fn single(key: &[u8]) -> Self {
        Self::new(key.to_vec(), successor(key))
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
            KeyRange::new(successor(last), self.range.end.clone())
        };
        Some(Self { range, ..self.clone() })
    }

    /// This read with room for so much less; `None` if none is left.
    #[cfg(feature = "fdb")]
    pub(crate) fn less(self, rows: usize, bytes: usize) -> Option<Self> {
        let limit = self.limit.checked_sub(rows).filter(|&left| left > 0)?;
        let byte_limit = self.byte_limit.checked_sub(bytes).filter(|&left| left > 0)?;
        Some(Self { limit, byte_limit, ..self })
    }

    /// The part of the range that `page`, the answer to this read, tells everything about.
    pub(crate) fn covered_by(&self, page: &Page) -> KeyRange {
        match page.rows.last() {
            Some(last) if page.more && self.reverse => KeyRange::new(last.key.clone(), self.range.end.clone()),
            Some(last) if page.more => KeyRange::new(self.range.begin.clone(), successor(&last.key)),
            _ => self.range.clone(),
        }
    }
}

/// The first key after `key`.
fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// The rows of one range read.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The rows, in the order asked for.
    pub rows: Vec<KeyValue>,
    /// Whether a limit ended the page: more rows may follow.
    pub more: bool,
}

/// Collects the rows of a read until one of its limits ends the page.
pub(crate) struct PageBuilder<'r> {
    read: &'r RangeRead,
    bytes: usize,
    page: Page,
}

impl<'r> PageBuilder<'r> {
    pub(crate) fn new(read: &'r RangeRead) -> Self {
        Self { read, bytes: 0, page: Page::default() }
    }

    pub(crate) fn push(&mut self, row: KeyValue) {
        self.bytes += row.key.len() + row.value.len();
        self.page.rows.push(row);
        self.page.more = self.page.rows.len() >= self.read.limit || self.bytes >= self.read.byte_limit;
    }

    /// Whether a limit was reached.
    pub(crate) fn is_full(&self) -> bool {
        self.page.more
    }

    pub(crate) fn finish(self) -> Page {
        self.page
    }
}
