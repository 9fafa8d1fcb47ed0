//! What an engine's committed state can do, as the shared commit rules see it.

use bytes::Bytes;

use crate::{KeyRange, Page, RangeRead};

/// An ordered map that can fail, at one instant.
pub(crate) trait Tree {
    type Error;

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Self::Error>;

    fn page(&self, read: &RangeRead) -> Result<Page, Self::Error>;
}

/// A tree that one transaction after another is applied to.
pub(crate) trait TreeMut: Tree {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    fn remove(&mut self, key: &[u8]) -> Result<(), Self::Error>;

    fn remove_range(&mut self, range: &KeyRange) -> Result<(), Self::Error>;
}
