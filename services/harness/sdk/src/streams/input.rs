//! Reading an input.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use stream_session::graph::{Graph, Type};
use wire::StreamItem;

use super::exchange::Handle;
use super::{Cancelled, Streams};
use crate::data::{Decode, Mismatch, Scope};

/// An input of an invocation: its items, in order, as they come. It ends with `None`, or is cancelled before.
///
/// The host sends on as items are read; what a client has sent meanwhile waits in the journal. Dropping it tells the sender that nobody wants the rest.
pub struct Input<T> {
    pub(crate) name: String,
    streams: Streams,
    graph: Arc<Graph>,
    element: Type,
    /// Nothing will come any more.
    over: bool,
    items: PhantomData<fn() -> T>,
}

impl<T> Input<T> {
    pub(crate) fn open(name: String, element: Type, scope: &Scope) -> Result<Self, Mismatch> {
        scope.streams().open_input(&name).map_err(|fault| Mismatch::new(fault.to_string()))?;
        let (streams, graph) = (scope.streams().clone(), Arc::clone(scope.graph()));
        Ok(Self { name, streams, graph, element, over: false, items: PhantomData })
    }
}

impl<T: Decode> Input<T> {
    /// The next item. Nothing is lost if it is not waited for to the end.
    ///
    /// # Errors
    /// The client cancelled the stream.
    pub async fn next(&mut self) -> Option<Result<T, Cancelled>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Cancelled>>> {
        if self.over {
            return Poll::Ready(None);
        }
        match std::task::ready!(self.streams.poll_item(&self.name, cx)) {
            Some(Ok(item)) => self.decode(item),
            Some(Err(cancelled)) => {
                self.over = true;
                Poll::Ready(Some(Err(cancelled)))
            }
            None => {
                self.over = true;
                Poll::Ready(None)
            }
        }
    }

    /// An item that is none of the stream's ends the invocation, and with it whoever waits here.
    fn decode(&self, item: StreamItem) -> Poll<Option<Result<T, Cancelled>>> {
        let item = item.item.ok_or_else(|| Mismatch::new("an item is empty"));
        match item.and_then(|item| Scope::item(&self.streams, &self.graph, &self.element, item)) {
            Ok(item) => Poll::Ready(Some(Ok(item))),
            Err(mismatch) => {
                self.streams.fail(mismatch.into());
                Poll::Pending
            }
        }
    }
}

impl<T: Decode> Stream for Input<T> {
    type Item = Result<T, Cancelled>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<T> Drop for Input<T> {
    fn drop(&mut self) {
        self.streams.dropped(Handle::Input(std::mem::take(&mut self.name)));
    }
}
