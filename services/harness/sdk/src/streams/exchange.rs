//! What has come on the streams of an invocation, what is to go, and who may send how much (invocation.proto). Nothing
//! waits in here.

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Poll, Waker};

use stream_session::limits;
use wire::event::Body;
use wire::stream_frame::Frame;
use wire::stream_item::Item;
use wire::{EventKind, MethodReturn, StreamCancel, StreamCredit, StreamEnd, StreamFrame, StreamItem};

use super::Cancelled;
use crate::error::StreamFault;

/// Least credit that is given back at once: an item does not need a frame of its own. Far less than a writer begins with,
/// so that it never stops while everything it sent was consumed.
const GRANT: i64 = 256 << 10;

const CONSUMER_DROP: &str = "consumer-drop";
const GIVEN_UP: &str = "the agent gave the stream up";
const OVER: &str = "the run is over";

/// The state of every stream.
#[derive(Default)]
pub(super) struct Exchange {
    inputs: HashMap<String, Incoming>,
    /// Those that have not ended.
    outputs: HashMap<String, Outgoing>,
    /// How many outputs there ever were; they are numbered from 1.
    opened: u64,
    outbox: VecDeque<Out>,
    /// Handles that were dropped since the harness was polled: whether it failed by that decides what they mean.
    dropped: Vec<Handle>,
    /// Nothing more comes from the host.
    left: bool,
    closed: bool,
}

/// One end of a stream.
pub(super) enum Handle {
    Input(String),
    Output(String),
}

/// Something on its way to the host.
enum Out {
    Item(String, StreamItem),
    End(String, StreamEnd),
    Drop(String),
    /// For as much as has been consumed when it is read.
    Credit(String),
    Return(MethodReturn),
}

/// What the host is told.
pub(crate) struct Told {
    pub(crate) kind: EventKind,
    pub(crate) body: Body,
    /// Whether it makes room for another item.
    pub(super) is_item: bool,
}

struct Incoming {
    next: i64,
    /// Of the host.
    credit: i64,
    queue: VecDeque<StreamItem>,
    /// Not given back yet.
    consumed: i64,
    granting: bool,
    end: Option<Result<(), Cancelled>>,
    /// Nobody reads it: what still comes is thrown away.
    dropped: bool,
    reader: Option<Waker>,
}

struct Outgoing {
    next: i64,
    credit: i64,
    cancelled: Option<Cancelled>,
    writer: Option<Waker>,
}

impl Default for Incoming {
    fn default() -> Self {
        Self {
            next: 0,
            credit: StreamCredit::INITIAL,
            queue: VecDeque::new(),
            consumed: 0,
            granting: false,
            end: None,
            dropped: false,
            reader: None,
        }
    }
}

impl Exchange {
    /// Takes a frame of the host. Returns how many items need not be sent any more.
    pub(super) fn receive(&mut self, StreamFrame { stream, frame }: StreamFrame) -> Result<usize, StreamFault> {
        if self.closed {
            return Ok(0);
        }
        match frame.ok_or(StreamFault::Empty)? {
            Frame::Item(item) => self.input(stream)?.take(item)?,
            Frame::End(_) => self.input(stream)?.end(Ok(()))?,
            Frame::Cancel(cancel) if self.is_output(&stream) => return Ok(self.unwanted(&stream, cancel.reason)),
            Frame::Cancel(StreamCancel { reason }) => self.input(stream)?.end(Err(Cancelled { reason }))?,
            Frame::Credit(StreamCredit { bytes }) => self.credit(&stream, bytes)?,
        }
        Ok(0)
    }

    /// Gives an input to whoever reads it. Its frames may have come before.
    pub(super) fn open_input(&mut self, name: &str) -> Result<(), StreamFault> {
        self.input(name.to_owned()).map(drop)
    }

    pub(super) fn open_output(&mut self) -> String {
        self.opened += 1;
        let name = format!("output-{}", self.opened);
        self.outputs
            .insert(name.clone(), Outgoing { next: 0, credit: StreamCredit::INITIAL, cancelled: None, writer: None });
        name
    }

    /// The next item of an input, or its end.
    pub(super) fn poll_item(
        &mut self,
        name: &str,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<StreamItem, Cancelled>>> {
        let Some(input) = self.inputs.get_mut(name) else { return Poll::Ready(None) };
        if let Some(item) = input.queue.pop_front() {
            if input.consume(item.cost()) {
                self.outbox.push_back(Out::Credit(name.to_owned()));
            }
            return Poll::Ready(Some(Ok(item)));
        }
        match &input.end {
            Some(end) => Poll::Ready(end.clone().err().map(Err)),
            None if self.closed || self.left => Poll::Ready(Some(Err(over()))),
            None => {
                input.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether another item may be sent.
    pub(super) fn poll_credit(&mut self, name: &str, cx: &mut Context<'_>) -> Poll<Result<(), Cancelled>> {
        if self.closed {
            return Poll::Ready(Err(over()));
        }
        let Some(output) = self.outputs.get_mut(name) else { return Poll::Ready(Err(over())) };
        if let Some(cancelled) = &output.cancelled {
            return Poll::Ready(Err(cancelled.clone()));
        }
        if output.credit > 0 {
            return Poll::Ready(Ok(()));
        }
        if self.left {
            return Poll::Ready(Err(over()));
        }
        output.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Why an output is not wanted any more, if it is not.
    pub(super) fn cancelled(&self, name: &str) -> Option<Cancelled> {
        self.outputs.get(name).and_then(|output| output.cancelled.clone())
    }

    /// Sends an item of an output that has credit.
    pub(super) fn send(&mut self, name: &str, item: Item) -> Result<(), Cancelled> {
        let output = self.outputs.get_mut(name).filter(|_| !self.closed).ok_or_else(over)?;
        if let Some(cancelled) = &output.cancelled {
            return Err(cancelled.clone());
        }
        let item = StreamItem { sequence: output.next, item: Some(item) };
        output.next += item.count();
        output.credit -= item.cost();
        self.outbox.push_back(Out::Item(name.to_owned(), item));
        Ok(())
    }

    /// Ends an output, unless nobody wants to know.
    pub(super) fn end(&mut self, name: &str, error: Option<String>) {
        if let Some(output) = self.outputs.remove(name)
            && output.cancelled.is_none()
            && !self.closed
        {
            self.outbox.push_back(Out::End(name.to_owned(), StreamEnd { error }));
        }
    }

    pub(super) fn returned(&mut self, returned: MethodReturn) {
        self.outbox.push_back(Out::Return(returned));
    }

    pub(super) fn drop(&mut self, handle: Handle) {
        self.dropped.push(handle);
    }

    /// What the handles mean that were dropped since the last time: inputs are not wanted any more, outputs will not go on.
    pub(super) fn settle(&mut self) {
        for handle in std::mem::take(&mut self.dropped) {
            match handle {
                Handle::Input(name) => self.abandon(name),
                Handle::Output(name) => self.end(&name, Some(GIVEN_UP.to_owned())),
            }
        }
    }

    /// Nothing more comes.
    pub(super) fn leave(&mut self) {
        self.left = true;
        self.wake();
    }

    /// Nothing more comes or goes, but for what is on its way already.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.wake();
    }

    fn wake(&mut self) {
        let readers = self.inputs.values_mut().filter_map(|input| input.reader.take());
        let writers = self.outputs.values_mut().filter_map(|output| output.writer.take());
        readers.chain(writers).for_each(Waker::wake);
    }

    /// The next thing that the host is told.
    pub(super) fn next(&mut self) -> Option<Told> {
        loop {
            let (stream, frame, is_item) = match self.outbox.pop_front()? {
                Out::Return(returned) => {
                    let body = Body::Returned(returned);
                    return Some(Told { kind: EventKind::EventReturn, body, is_item: false });
                }
                Out::Item(stream, item) => (stream, Frame::Item(item), true),
                Out::End(stream, end) => (stream, Frame::End(end), false),
                Out::Drop(stream) => (stream, Frame::Cancel(StreamCancel { reason: CONSUMER_DROP.to_owned() }), false),
                Out::Credit(stream) => match self.inputs.get_mut(&stream).and_then(Incoming::grant) {
                    Some(bytes) => (stream, Frame::Credit(StreamCredit { bytes }), false),
                    None => continue,
                },
            };
            let body = Body::Stream(StreamFrame { stream, frame: Some(frame) });
            return Some(Told { kind: EventKind::EventStream, body, is_item });
        }
    }

    fn input(&mut self, name: String) -> Result<&mut Incoming, StreamFault> {
        if self.is_output(&name) {
            return Err(StreamFault::Direction);
        }
        if self.inputs.len() == limits::MAPPINGS && !self.inputs.contains_key(&name) {
            return Err(StreamFault::TooMany);
        }
        Ok(self.inputs.entry(name).or_default())
    }

    /// Whether there is or was an output of this name.
    fn is_output(&self, name: &str) -> bool {
        let number = name.strip_prefix("output-").and_then(|number| number.parse().ok());
        number.is_some_and(|number: u64| (1..=self.opened).contains(&number))
    }

    /// The host cancels an output.
    fn unwanted(&mut self, name: &str, reason: String) -> usize {
        let Some(output) = self.outputs.get_mut(name) else { return 0 };
        output.cancelled = Some(Cancelled { reason });
        output.writer.take().into_iter().for_each(Waker::wake);
        let before = self.outbox.len();
        self.outbox.retain(|out| !matches!(out, Out::Item(stream, _) if stream == name));
        before - self.outbox.len()
    }

    fn credit(&mut self, name: &str, bytes: i64) -> Result<(), StreamFault> {
        if !self.is_output(name) {
            return Err(StreamFault::Direction);
        }
        if bytes <= 0 {
            return Err(StreamFault::Credit);
        }
        // One that has ended has no use for it.
        if let Some(output) = self.outputs.get_mut(name) {
            output.credit = output.credit.checked_add(bytes).ok_or(StreamFault::Credit)?;
            output.writer.take().into_iter().for_each(Waker::wake);
        }
        Ok(())
    }

    fn abandon(&mut self, name: String) {
        let Some(input) = self.inputs.get_mut(&name) else { return };
        input.queue = VecDeque::new();
        input.dropped = true;
        if input.end.is_none() && !self.closed {
            self.outbox.push_back(Out::Drop(name));
        }
    }
}

impl Incoming {
    fn take(&mut self, item: StreamItem) -> Result<(), StreamFault> {
        if self.end.is_some() {
            return Err(StreamFault::AfterEnd);
        }
        if item.sequence != self.next {
            return Err(StreamFault::Sequence);
        }
        let fits = match item.item.as_ref().ok_or(StreamFault::Empty)? {
            Item::Octets(octets) => (1..=limits::PACKED_BYTES).contains(&octets.len()),
            Item::Value(_) | Item::Binary(_) => true,
        };
        if !fits {
            return Err(StreamFault::Octets);
        }
        self.next += item.count();
        if self.dropped {
            // The host had not heard of it yet. It gets no credit for more.
            return Ok(());
        }
        if self.credit <= 0 {
            return Err(StreamFault::Overdrawn);
        }
        self.credit -= item.cost();
        self.queue.push_back(item);
        self.reader.take().into_iter().for_each(Waker::wake);
        Ok(())
    }

    fn end(&mut self, end: Result<(), Cancelled>) -> Result<(), StreamFault> {
        if self.end.is_some() {
            return Err(StreamFault::AfterEnd);
        }
        self.end = Some(end);
        self.reader.take().into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Whether it is time to give credit back.
    fn consume(&mut self, cost: i64) -> bool {
        self.consumed += cost;
        let due = self.consumed >= GRANT && !self.granting && self.end.is_none();
        self.granting |= due;
        due
    }

    /// What is given back, if it is of any use.
    fn grant(&mut self) -> Option<i64> {
        self.granting = false;
        let bytes = std::mem::take(&mut self.consumed);
        self.credit += bytes;
        (self.end.is_none() && !self.dropped).then_some(bytes)
    }
}

fn over() -> Cancelled {
    Cancelled { reason: OVER.to_owned() }
}
