//! A running turn.

mod inlet;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream};
use tokio::sync::mpsc;
use wire::event::Body;
use wire::{ControllerFrame, Error, Event, EventKind, HarnessEnd};

pub use inlet::Inlet;

use crate::frame::Address;
use crate::{Failure, Harness, Sink, Streams, Turn};

/// Effects that a harness can be ahead of whoever reads them. More than one would let it go on after a PARKED.
const EFFECTS_AHEAD: usize = 1;
/// Answers that can wait for the harness: a decision and its receipt.
const ANSWERS_AHEAD: usize = 2;

/// A harness at work on one turn. Whoever reads its events runs it: there is no task behind it, the harness advances
/// only while the stream is polled, and dropping the run drops the harness.
///
/// The stream ends after an END or PARKED event.
pub struct Run {
    progress: Progress,
    effects: mpsc::Receiver<Event>,
    inlet: Inlet,
    /// Whether the next event is one of a stream, if there are both.
    stream_is_next: bool,
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
        let (outgoing, effects) = mpsc::channel(EFFECTS_AHEAD);
        let (answers, replies) = mpsc::channel(ANSWERS_AHEAD);
        let streams = turn.invocation().map(|_| Streams::default());
        let sink = Sink::new(Arc::clone(&address), outgoing, replies, streams.clone().unwrap_or_default());
        let progress = Progress::Running(drive(harness, turn, sink).boxed());
        Self { progress, effects, inlet: Inlet::new(address, answers, streams), stream_is_next: true }
    }

    /// Where the frames of the host come in, also while somebody waits for an event.
    #[must_use]
    pub fn inlet(&self) -> Inlet {
        self.inlet.clone()
    }

    /// [`Inlet::deliver`]; a harness that is stopped by the frame is dropped at once.
    pub fn deliver(&mut self, frame: ControllerFrame) {
        self.inlet.deliver(frame);
        self.heed();
    }

    /// [`Inlet::close`].
    pub fn close(&mut self) {
        self.inlet.close();
    }

    /// Stops the harness if a frame said so. That drops it, and with it the sender of events.
    fn heed(&mut self) {
        if matches!(self.progress, Progress::Running(_))
            && let Some(failure) = self.inlet.stopped()
        {
            self.end(Err(failure));
        }
    }

    fn end(&mut self, outcome: Result<(), Failure>) {
        // Streams that are open when a turn fails are the host's to end: the harness has no say in it any more.
        if let (Some(streams), Err(_)) = (self.inlet.streams(), &outcome) {
            streams.close();
        }
        self.progress = Progress::Ending(outcome);
        self.inlet.finish();
    }

    /// Lets the harness go on until it waits for something.
    fn advance(&mut self, cx: &mut Context<'_>) {
        self.inlet.listen(cx);
        self.heed();
        let Progress::Running(harness) = &mut self.progress else { return };
        let mut outcome = harness.poll_unpin(cx);
        if let Some(streams) = self.inlet.streams()
            && !matches!(outcome, Poll::Ready(Err(_)))
            && let Err(failure) = streams.settle(cx)
        {
            outcome = Poll::Ready(Err(failure));
        }
        if let Poll::Ready(outcome) = outcome {
            self.end(outcome);
        }
    }

    /// What the harness has emitted. Neither effects nor streams keep the others waiting.
    fn emitted(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.stream_is_next = !self.stream_is_next;
        if self.stream_is_next
            && let Some(event) = self.of_stream()
        {
            return Poll::Ready(Some(event));
        }
        match self.effects.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            none => self.of_stream().map_or(none, |event| Poll::Ready(Some(event))),
        }
    }

    fn of_stream(&self) -> Option<Event> {
        let told = self.inlet.streams()?.next()?;
        Some(self.inlet.address().event(told.kind, told.body))
    }
}

impl Stream for Run {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let run = self.get_mut();
        run.advance(cx);
        if matches!(run.progress, Progress::Ended) {
            return Poll::Ready(None);
        }
        // What the harness has emitted comes before the way it ended.
        if let Some(event) = ready!(run.emitted(cx)) {
            if event.kind() == EventKind::EventParked {
                run.progress = Progress::Ended;
                run.inlet.finish();
            }
            return Poll::Ready(Some(event));
        }
        match std::mem::replace(&mut run.progress, Progress::Ended) {
            Progress::Ending(outcome) => {
                Poll::Ready(Some(run.inlet.address().event(EventKind::EventEnd, end(outcome))))
            }
            Progress::Running(_) | Progress::Ended => Poll::Ready(None),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Work that has not begun holds streams, which hold it.
        if let Some(streams) = self.inlet.streams() {
            streams.close();
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
