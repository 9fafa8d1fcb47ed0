//! Where the frames of a host come in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use tokio::sync::mpsc;
use wire::ControllerFrame;
use wire::controller_frame::Frame;

use crate::frame::{self, Address};
use crate::{Failure, Streams, Violation};

/// Takes the frames of a host for a run. Clones are the same inlet; it may be used by another task than the one that reads
/// the events, so that frames are taken however slowly those are read.
#[derive(Clone)]
pub struct Inlet {
    shared: Arc<Shared>,
}

struct Shared {
    address: Arc<Address>,
    streams: Option<Streams>,
    state: Mutex<State>,
}

struct State {
    /// Until the host has closed its side, or the run is over.
    answers: Option<mpsc::Sender<Frame>>,
    stop: Option<Failure>,
    over: bool,
    /// Whoever waits for the next event.
    host: Option<Waker>,
}

impl Inlet {
    pub(super) fn new(address: Arc<Address>, answers: mpsc::Sender<Frame>, streams: Option<Streams>) -> Self {
        let state = State { answers: Some(answers), stop: None, over: false, host: None };
        Self { shared: Arc::new(Shared { address, streams, state: Mutex::new(state) }) }
    }

    /// Gives a frame after the first to the harness. Never waits: a host that sends more than was asked for breaks the
    /// protocol, which ends the run as failed. Returns whether another frame is of any use.
    pub fn deliver(&self, frame: ControllerFrame) -> bool {
        if self.state().over {
            return false;
        }
        let taken = match (self.shared.address.open(frame), &self.shared.streams) {
            (Ok(Frame::Cancel(cancel)), _) => Err(Failure::new(format!("canceled by the host: {}", cancel.reason))),
            (Ok(Frame::Stream(frame)), Some(streams)) => streams.receive(frame).map_err(Failure::from),
            (Ok(frame), _) => self.answer(frame).map_err(Failure::from),
            (Err(violation), _) => Err(violation.into()),
        };
        if let Err(failure) = taken {
            let mut state = self.state();
            state.over = true;
            state.stop = Some(failure);
            state.host.take().into_iter().for_each(Waker::wake);
            return false;
        }
        true
    }

    /// Tells the harness that no frame will follow: an effect that waits for an answer fails, and so do a reader that waits for
    /// an item and a writer that waits for room.
    pub fn close(&self) {
        self.state().answers = None;
        self.streams().into_iter().for_each(Streams::leave);
    }

    pub(super) fn address(&self) -> &Address {
        &self.shared.address
    }

    pub(super) fn streams(&self) -> Option<&Streams> {
        self.shared.streams.as_ref()
    }

    /// Wakes whoever polls when a frame stops the run.
    pub(super) fn listen(&self, cx: &Context<'_>) {
        self.state().host = Some(cx.waker().clone());
    }

    /// Why a frame stopped the run, if one did.
    pub(super) fn stopped(&self) -> Option<Failure> {
        self.state().stop.take()
    }

    /// The run is over: frames are ignored.
    pub(super) fn finish(&self) {
        let mut state = self.state();
        state.over = true;
        state.answers = None;
    }

    fn answer(&self, frame: Frame) -> Result<(), Violation> {
        let state = self.state();
        let Some(answers) = &state.answers else { return Ok(()) };
        // A harness whose sink is gone has asked for nothing.
        answers.try_send(frame).map_err(|error| Violation::Unexpected(frame::name(Some(&error.into_inner()))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
