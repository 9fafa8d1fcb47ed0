//! A running turn.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream};
use tokio::sync::mpsc;
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{ControllerFrame, Error, Event, EventKind, HarnessEnd};

use crate::frame::{self, Address};
use crate::{Failure, Harness, Sink, Turn, Violation};

/// Events that a harness can be ahead of whoever reads them. More than one would let it go on after a PARKED.
const EVENTS_AHEAD: usize = 1;
/// Frames that can wait for the harness: a decision and its receipt.
const FRAMES_AHEAD: usize = 2;

/// A harness at work on one turn. Whoever reads its events runs it: there is no task behind it, the harness advances
/// only while the stream is polled, and dropping the run drops the harness.
///
/// The stream ends after an END or PARKED event.
pub struct Run {
    address: Arc<Address>,
    progress: Progress,
    events: mpsc::Receiver<Event>,
    frames: Option<mpsc::Sender<Frame>>,
}

enum Progress {
    Running(BoxFuture<'static, Result<(), Failure>>),
    /// The END event is still to be read.
    Ending(Result<(), Failure>),
    Ended,
}

impl Run {
    /// Prepares a run; the harness starts when the first event is asked for.
    #[must_use]
    pub fn new(harness: Arc<dyn Harness>, turn: Turn) -> Self {
        let address = Arc::new(Address { session: turn.session.clone(), execution: turn.execution.clone() });
        let (outgoing, events) = mpsc::channel(EVENTS_AHEAD);
        let (frames, replies) = mpsc::channel(FRAMES_AHEAD);
        let sink = Sink::new(Arc::clone(&address), outgoing, replies);
        Self { address, progress: Progress::Running(drive(harness, turn, sink).boxed()), events, frames: Some(frames) }
    }

    /// Gives a frame after the first to the harness. Never waits: a host that sends more than was asked for breaks the
    /// protocol, which ends the run as failed. After the end of the run frames are ignored.
    pub fn deliver(&mut self, frame: ControllerFrame) {
        match self.address.open(frame) {
            Ok(Frame::Cancel(cancel)) => self.stop(Failure::new(format!("canceled by the host: {}", cancel.reason))),
            Ok(frame) => self.answer(frame),
            Err(violation) => self.stop(violation.into()),
        }
    }

    /// Tells the harness that no frame will follow: an effect that waits for an answer fails.
    pub fn close(&mut self) {
        self.frames = None;
    }

    /// Whether the harness is still at work.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.progress, Progress::Running(_))
    }

    fn answer(&mut self, frame: Frame) {
        let Some(frames) = &self.frames else { return };
        if let Err(mpsc::error::TrySendError::Full(frame)) = frames.try_send(frame) {
            self.stop(Violation::Unexpected(frame::name(Some(&frame))).into());
        }
    }

    /// Drops the harness, and with it the sender of events.
    fn stop(&mut self, failure: Failure) {
        if self.is_running() {
            self.progress = Progress::Ending(Err(failure));
        }
    }
}

impl Stream for Run {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let run = self.get_mut();
        if let Progress::Running(harness) = &mut run.progress
            && let Poll::Ready(outcome) = harness.poll_unpin(cx)
        {
            run.progress = Progress::Ending(outcome);
        }
        // What the harness has emitted comes before the way it ended.
        let emitted = ready!(run.events.poll_recv(cx));
        if let Some(event) = emitted {
            if event.kind() == EventKind::EventParked {
                run.progress = Progress::Ended;
            }
            return Poll::Ready(Some(event));
        }
        match std::mem::replace(&mut run.progress, Progress::Ended) {
            Progress::Ending(outcome) => Poll::Ready(Some(run.address.event(EventKind::EventEnd, end(outcome)))),
            Progress::Running(_) | Progress::Ended => Poll::Ready(None),
        }
    }
}

/// Runs the harness. A panic in it fails this turn and no other on the same connection.
async fn drive(harness: Arc<dyn Harness>, turn: Turn, mut sink: Sink) -> Result<(), Failure> {
    let returned = AssertUnwindSafe(harness.run(turn, &mut sink)).catch_unwind().await;
    sink.outcome(returned.unwrap_or_else(|_| Err(Failure::new("the harness panicked"))))
}

fn end(outcome: Result<(), Failure>) -> Body {
    let (state, error) = match outcome {
        Ok(()) => ("COMPLETED", None),
        Err(failure) => ("FAILED", Some(Error { code: 0, description: failure.to_string() })),
    };
    Body::End(HarnessEnd { state: state.into(), error })
}

impl Address {
    /// An event of this execution.
    pub(crate) fn event(&self, kind: EventKind, body: Body) -> Event {
        Event::new(kind, body).of_execution(self.execution.as_str())
    }
}
