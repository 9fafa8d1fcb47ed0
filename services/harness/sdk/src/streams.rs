//! The streams of an invocation, as its method sees them.

mod exchange;
mod input;
mod output;

use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::BoxFuture;
use thiserror::Error;
use tokio::sync::Semaphore;
use wire::stream_item::Item;
use wire::{MethodReturn, StreamFrame, StreamItem};

pub use input::Input;
pub use output::{Outlet, Output};

use crate::data::Encode;
use crate::error::StreamFault;
use crate::{Failure, Violation};
use exchange::{Exchange, Handle, Told};

/// Items of all outputs together that may be ahead of whoever reads the events.
const ITEMS_AHEAD: usize = 16;

/// A stream was cancelled: an input by whoever sends it, an output by whoever reads it. The reason is one of the
/// protocol's, such as `cancelled`, `consumer-drop` or `source-unavailable`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the stream was cancelled: {reason}")]
pub struct Cancelled {
    /// Why.
    pub reason: String,
}

/// Something that goes on beside the method, and after it.
pub(crate) type Work = BoxFuture<'static, Result<(), Cancelled>>;

/// The streams of one invocation. Clones share them.
#[derive(Clone, Default)]
pub struct Streams {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// For items on their way.
    room: Semaphore,
}

#[derive(Default)]
struct State {
    exchange: Exchange,
    works: Vec<Work>,
    broken: Option<Failure>,
    /// Whoever waits for the next event.
    host: Option<Waker>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { state: Mutex::default(), room: Semaphore::new(ITEMS_AHEAD) }
    }
}

impl Streams {
    /// Makes an output: what stands for it in a result or an item, and where its items go.
    pub fn output<T: Encode>(&self) -> (Outlet<T>, Output<T>) {
        let name = self.state().exchange.open_output();
        let outlet = Outlet { name: name.clone(), items: PhantomData };
        (outlet, Output { name, streams: self.clone(), items: PhantomData })
    }

    /// Does `work` beside the method, and after it: the invocation ends when the method has returned and all such work is
    /// done. It runs in the task of the invocation, not in one of its own, so it must not block.
    ///
    /// A stream that is cancelled may end the work, but is no failure of the invocation. An output that is dropped before
    /// it has ended, ends with an error.
    pub fn beside(&self, work: impl Future<Output = Result<(), Cancelled>> + Send + 'static) {
        let mut state = self.state();
        state.works.push(work.boxed());
        state.host.take().into_iter().for_each(Waker::wake);
    }

    /// Ends the invocation as failed, whatever else goes on in it: for work that goes on beside a method, whose own failures
    /// do so by themselves. What was sent before is sent.
    pub fn fail(&self, failure: Failure) {
        let mut state = self.state();
        state.broken.get_or_insert(failure);
        state.host.take().into_iter().for_each(Waker::wake);
    }

    pub(crate) fn receive(&self, frame: StreamFrame) -> Result<(), Violation> {
        let gone = self.state().exchange.receive(frame)?;
        self.shared.room.add_permits(gone);
        Ok(())
    }

    /// The next thing that the host is told of the streams.
    pub(crate) fn next(&self) -> Option<Told> {
        let told = self.state().exchange.next()?;
        self.shared.room.add_permits(usize::from(told.is_item));
        Some(told)
    }

    /// After the harness was polled: what it let go of meanwhile, and whether the invocation is broken.
    pub(crate) fn settle(&self, cx: &Context<'_>) -> Result<(), Failure> {
        let mut state = self.state();
        state.host = Some(cx.waker().clone());
        if let Some(failure) = state.broken.take() {
            return Err(failure);
        }
        state.exchange.settle();
        Ok(())
    }

    /// The host says nothing more: who waits for an item or for credit waits in vain.
    pub(crate) fn leave(&self) {
        self.state().exchange.leave();
    }

    /// The invocation is over: nothing more comes or goes.
    pub(crate) fn close(&self) {
        let works = {
            let mut state = self.state();
            state.exchange.close();
            std::mem::take(&mut state.works)
        };
        // They may hold streams, whose end needs the lock.
        drop(works);
    }

    pub(crate) fn returned(&self, result: Option<String>) {
        self.state().exchange.returned(MethodReturn { result: result.unwrap_or_default() });
    }

    pub(crate) fn take_works(&self) -> Vec<Work> {
        std::mem::take(&mut self.state().works)
    }

    pub(crate) fn has_works(&self) -> bool {
        !self.state().works.is_empty()
    }

    fn open_input(&self, name: &str) -> Result<(), StreamFault> {
        self.state().exchange.open_input(name)
    }

    fn poll_item(&self, name: &str, cx: &mut Context<'_>) -> Poll<Option<Result<StreamItem, Cancelled>>> {
        self.state().exchange.poll_item(name, cx)
    }

    async fn send(&self, name: &str, item: Item) -> Result<(), Cancelled> {
        std::future::poll_fn(|cx| self.state().exchange.poll_credit(name, cx)).await?;
        // The semaphore is never closed; and what was cancelled meanwhile is found out below.
        let room = self.shared.room.acquire().await;
        let sent = {
            let mut state = self.state();
            state.host.take().into_iter().for_each(Waker::wake);
            state.exchange.send(name, item)
        };
        if sent.is_ok() {
            room.into_iter().for_each(|room| room.forget());
        }
        sent
    }

    fn end(&self, name: &str, error: Option<String>) {
        let mut state = self.state();
        state.exchange.end(name, error);
        state.host.take().into_iter().for_each(Waker::wake);
    }

    fn cancelled(&self, name: &str) -> Option<Cancelled> {
        self.state().exchange.cancelled(name)
    }

    fn dropped(&self, handle: Handle) {
        // A harness that panics fails as a whole, its streams with it.
        if !std::thread::panicking() {
            let mut state = self.state();
            state.exchange.drop(handle);
            state.host.take().into_iter().for_each(Waker::wake);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
