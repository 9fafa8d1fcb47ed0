//! What a transaction has read, to be compared with the state that it commits on.

use bytes::Bytes;

use crate::tree::Tree;
use crate::{Page, RangeRead};

/// The reads of one transaction.
///
/// They are validated by reading again and comparing, not by comparing versions: it needs no bookkeeping of past
/// commits, holds for commits of other processes too, and lets a caller presume a value that it never read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    points: Vec<Point>,
    presumed: Vec<Point>,
    ranges: Vec<(RangeRead, Page)>,
}

#[derive(Debug)]
struct Point {
    key: Bytes,
    value: Option<Bytes>,
}

impl Reads {
    pub(crate) fn record(&mut self, key: &[u8], value: Option<Bytes>) {
        self.points.push(Point { key: Bytes::copy_from_slice(key), value });
    }

    pub(crate) fn presume(&mut self, key: &[u8], value: Option<Bytes>) {
        self.presumed.push(Point { key: Bytes::copy_from_slice(key), value });
    }

    pub(crate) fn record_page(&mut self, read: RangeRead, page: Page) {
        self.ranges.push((read, page));
    }

    /// Hands over what was presumed.
    pub(crate) fn take_presumed(&mut self) -> impl Iterator<Item = (Bytes, Option<Bytes>)> + use<> {
        std::mem::take(&mut self.presumed).into_iter().map(|point| (point.key, point.value))
    }

    /// The one key that something is presumed of, and the value that it is presumed to have.
    pub(crate) fn only_presumption(&self) -> Option<(&Bytes, &Bytes)> {
        match &self.presumed[..] {
            [Point { key, value: Some(value) }] => Some((key, value)),
            _ => None,
        }
    }

    /// Whether every read would answer the same on `tree`, and all that is presumed is so.
    pub(crate) fn hold_in<T: Tree>(&self, tree: &T) -> Result<bool, T::Error> {
        Ok(hold(&self.presumed, tree)? && self.answers_hold_in(tree)?)
    }

    /// Whether every read would answer the same on `tree`.
    pub(crate) fn answers_hold_in<T: Tree>(&self, tree: &T) -> Result<bool, T::Error> {
        Ok(hold(&self.points, tree)? && self.ranges_hold_in(tree)?)
    }

    fn ranges_hold_in<T: Tree>(&self, tree: &T) -> Result<bool, T::Error> {
        for (read, seen) in &self.ranges {
            // Where a limit ended the page, equal rows mean that nothing changed up to the last of them. Where none
            // did, a row more would show.
            if tree.page(read)?.rows != seen.rows {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn hold<T: Tree>(points: &[Point], tree: &T) -> Result<bool, T::Error> {
    for point in points {
        if tree.get(&point.key)? != point.value {
            return Ok(false);
        }
    }
    Ok(true)
}
