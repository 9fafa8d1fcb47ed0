//! Writing an output.

use std::marker::PhantomData;

use super::exchange::Handle;
use super::{Cancelled, Streams};
use crate::data::Encode;

/// An output of an invocation: takes its items, in order, as far as its reader lets it.
///
/// It ends by [`Output::end`] or [`Output::fail`]; one that is dropped before that ends with an error.
pub struct Output<T> {
    pub(super) name: String,
    pub(super) streams: Streams,
    pub(super) items: PhantomData<fn(T)>,
}

/// The place of an output in the result of the method, or in an item of another output.
#[must_use = "an output that stands nowhere reaches nobody"]
pub struct Outlet<T> {
    pub(crate) name: String,
    pub(super) items: PhantomData<fn(T)>,
}

impl<T: Encode> Output<T> {
    /// Sends an item, as soon as its reader has room for it. An item is sent whole or, if this is not waited for to the
    /// end, not at all, but for octets beyond 1 MiB.
    ///
    /// # Errors
    /// Nobody wants the stream any more; so it will be for every later item.
    pub async fn send(&mut self, item: T) -> Result<(), Cancelled> {
        for item in item.into_items() {
            self.streams.send(&self.name, item).await?;
        }
        Ok(())
    }

    /// Ends the stream well.
    pub fn end(self) {
        self.streams.end(&self.name, None);
    }

    /// Ends the stream with an error, whose text the client is shown. The invocation goes on.
    pub fn fail(self, text: impl Into<String>) {
        self.streams.end(&self.name, Some(text.into()));
    }

    /// Why nobody wants the stream any more, if so.
    #[must_use]
    pub fn cancelled(&self) -> Option<Cancelled> {
        self.streams.cancelled(&self.name)
    }
}

impl<T> Drop for Output<T> {
    fn drop(&mut self) {
        self.streams.dropped(Handle::Output(std::mem::take(&mut self.name)));
    }
}
