//! The writes that a transaction has buffered: seen by its own reads, applied at its commit.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use crate::tree::TreeMut;
use crate::{AtomicOp, KeyRange, KeyValue, Versionstamp};

/// The buffered writes of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    keys: BTreeMap<Bytes, Write>,
    /// Disjoint cleared ranges, begin to end. What `keys` holds came later.
    cleared: BTreeMap<Bytes, Bytes>,
    stamped: Vec<Stamped>,
}

#[derive(Debug)]
enum Write {
    Value(Option<Bytes>),
    /// Operations on a value that the transaction does not know.
    Atomic(Vec<(AtomicOp, u64)>),
}

#[derive(Debug)]
struct Stamped {
    prefix: Bytes,
    suffix: Bytes,
    value: Bytes,
}

/// What the buffer says about a key.
pub(crate) enum Overlay<'w> {
    /// It decides the value.
    Value(Option<Bytes>),
    /// These operations apply to the committed value, whatever it is.
    Atomic(&'w [(AtomicOp, u64)]),
    /// Nothing.
    Nothing,
}

impl Writes {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.cleared.is_empty() && self.stamped.is_empty()
    }

    pub(crate) fn has_versionstamps(&self) -> bool {
        !self.stamped.is_empty()
    }

    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) {
        self.keys.insert(Bytes::copy_from_slice(key), Write::Value(Some(Bytes::copy_from_slice(value))));
    }

    pub(crate) fn clear(&mut self, key: &[u8]) {
        self.keys.insert(Bytes::copy_from_slice(key), Write::Value(None));
    }

    pub(crate) fn clear_range(&mut self, range: &KeyRange) {
        if range.begin >= range.end {
            return;
        }
        let covered: Vec<Bytes> = self.keys_in(range).map(|(key, _)| key.clone()).collect();
        for key in covered {
            self.keys.remove(&key);
        }
        let mut whole = range.clone();
        while let Some((begin, end)) = self.cleared_touching(&whole) {
            self.cleared.remove(&begin);
            whole = KeyRange { begin: whole.begin.min(begin), end: whole.end.max(end) };
        }
        self.cleared.insert(whole.begin, whole.end);
    }

    pub(crate) fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        let write = match self.overlay(key) {
            Overlay::Value(value) => Write::Value(Some(op.apply(value.as_deref(), operand))),
            Overlay::Atomic(earlier) => Write::Atomic([earlier, &[(op, operand)]].concat()),
            Overlay::Nothing => Write::Atomic(vec![(op, operand)]),
        };
        self.keys.insert(Bytes::copy_from_slice(key), write);
    }

    pub(crate) fn set_versionstamped(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        self.stamped.push(Stamped {
            prefix: Bytes::copy_from_slice(prefix),
            suffix: Bytes::copy_from_slice(suffix),
            value: Bytes::copy_from_slice(value),
        });
    }

    pub(crate) fn overlay(&self, key: &[u8]) -> Overlay<'_> {
        match self.keys.get(key) {
            Some(Write::Value(value)) => Overlay::Value(value.clone()),
            Some(Write::Atomic(ops)) => Overlay::Atomic(ops),
            None if self.is_cleared(key) => Overlay::Value(None),
            None => Overlay::Nothing,
        }
    }

    /// Whether anything in `range` may differ from the committed state.
    pub(crate) fn touches(&self, range: &KeyRange) -> bool {
        range.begin < range.end && (self.keys_in(range).next().is_some() || self.cleared_touching(range).is_some())
    }

    /// The rows of `range` as the transaction sees them, in key order, given all its committed rows.
    pub(crate) fn merge(&self, range: &KeyRange, committed: Vec<KeyValue>) -> Vec<KeyValue> {
        let mut rows: BTreeMap<Bytes, Bytes> =
            committed.into_iter().filter(|row| !self.is_cleared(&row.key)).map(|row| (row.key, row.value)).collect();
        for (key, write) in self.keys_in(range) {
            match write.value_over(rows.get(key).map(|value| &value[..])) {
                Some(value) => rows.insert(key.clone(), value),
                None => rows.remove(key),
            };
        }
        rows.into_iter().map(|(key, value)| KeyValue { key, value }).collect()
    }

    /// The value that `key` is set to, where that is all that happens to it.
    pub(crate) fn replacement(&self, key: &[u8]) -> Option<&Bytes> {
        match self.keys.get(key) {
            Some(Write::Value(value)) if !self.is_cleared(key) => value.as_ref(),
            _ => None,
        }
    }

    /// Applies the writes to `tree`, but for the one to the key `done`.
    pub(crate) fn apply<T: TreeMut>(
        &self,
        tree: &mut T,
        stamp: Option<Versionstamp>,
        done: Option<&Bytes>,
    ) -> Result<(), T::Error> {
        for (begin, end) in &self.cleared {
            tree.remove_range(&KeyRange { begin: begin.clone(), end: end.clone() })?;
        }
        for (key, write) in self.keys.iter().filter(|(key, _)| Some(*key) != done) {
            let value = match write {
                Write::Value(value) => value.clone(),
                Write::Atomic(_) => write.value_over(tree.get(key)?.as_deref()),
            };
            match value {
                Some(value) => tree.put(key, &value)?,
                None => tree.remove(key)?,
            }
        }
        let Some(stamp) = stamp else { return Ok(()) };
        self.stamped.iter().try_for_each(|write| tree.put(&write.key(stamp), &write.value))
    }

    /// Every key and range that a commit changed, or may have.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let ranges = self.cleared.iter().map(|(begin, end)| Change::Range(begin, end));
        ranges.chain(self.keys.keys().map(Change::Key))
    }

    fn keys_in(&self, range: &KeyRange) -> impl Iterator<Item = (&Bytes, &Write)> {
        self.keys.range::<[u8], _>((Bound::Included(&range.begin[..]), Bound::Excluded(&range.end[..])))
    }

    /// The last cleared range that overlaps or adjoins `range`.
    fn cleared_touching(&self, range: &KeyRange) -> Option<(Bytes, Bytes)> {
        let (begin, end) = self.cleared.range::<Bytes, _>(..=&range.end).next_back()?;
        (*end >= range.begin).then(|| (begin.clone(), end.clone()))
    }

    fn is_cleared(&self, key: &[u8]) -> bool {
        let before = self.cleared.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        before.is_some_and(|(_, end)| key < &end[..])
    }
}

/// Where a commit changed the store.
pub(crate) enum Change<'w> {
    Key(&'w Bytes),
    Range(&'w Bytes, &'w Bytes),
}

impl Write {
    fn value_over(&self, committed: Option<&[u8]>) -> Option<Bytes> {
        match self {
            Self::Value(value) => value.clone(),
            Self::Atomic(ops) => apply_all(ops, committed),
        }
    }
}

impl Stamped {
    fn key(&self, stamp: Versionstamp) -> Vec<u8> {
        [&self.prefix[..], &stamp.0, &self.suffix[..]].concat()
    }
}

/// Applies `ops` in order.
pub(crate) fn apply_all(ops: &[(AtomicOp, u64)], committed: Option<&[u8]>) -> Option<Bytes> {
    let committed = committed.map(Bytes::copy_from_slice);
    ops.iter().fold(committed, |value, &(op, operand)| Some(op.apply(value.as_deref(), operand)))
}

impl AtomicOp {
    /// The new value. A value of another length than 8 bytes is cut or extended with zeros first.
    fn apply(self, value: Option<&[u8]>, operand: u64) -> Bytes {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(value.unwrap_or_default()) {
            *to = *from;
        }
        let current = u64::from_le_bytes(bytes);
        let new = match self {
            Self::Add => current.wrapping_add(operand),
            Self::Max => current.max(operand),
        };
        Bytes::copy_from_slice(&new.to_le_bytes())
    }
}
