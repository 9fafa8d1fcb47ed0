//! A turn of a plain harness that is an invocation: what it says is the only output.

use std::collections::VecDeque;
use std::future::pending;

use async_trait::async_trait;
use journal::ExecutionId;
use stream_session::value::{StreamRef, Value};
use wire::event::Body;
use wire::stream_frame::Frame;
use wire::stream_item::Item;
use wire::{Event, EventKind, Message, MethodReturn, StreamCredit, StreamEnd, StreamFrame, StreamItem};

use crate::ports::{HarnessConnection, HarnessFailure, HostFrame};

/// What the output is called.
const OUTPUT: &str = "output";

/// Adds to the events of a turn what an invocation has beside them: the return of the method, first of all, the text of
/// whatever the turn says as an item, and the end of the output.
pub(super) struct Connection {
    inner: Box<dyn HarnessConnection>,
    execution: ExecutionId,
    /// What the host is told before the harness is read any further.
    waiting: VecDeque<Event>,
    next: i64,
    credit: i64,
    cancelled: bool,
    /// The harness says nothing more.
    closed: bool,
}

impl Connection {
    pub(super) fn new(inner: Box<dyn HarnessConnection>, execution: ExecutionId) -> Self {
        let credit = StreamCredit::INITIAL;
        let mut connection =
            Self { inner, execution, waiting: VecDeque::new(), next: 0, credit, cancelled: false, closed: false };
        let result = Value::Stream(StreamRef::Stable(OUTPUT.to_owned())).canonical();
        connection.add(EventKind::EventReturn, Body::Returned(MethodReturn { result }));
        connection
    }

    fn add(&mut self, kind: EventKind, body: Body) {
        self.waiting.push_back(Event::new(kind, body).of_execution(self.execution.as_str()));
    }

    fn tell(&mut self, frame: Frame) {
        if !self.cancelled {
            let frame = StreamFrame { stream: OUTPUT.to_owned(), frame: Some(frame) };
            self.add(EventKind::EventStream, Body::Stream(frame));
        }
    }

    /// The turn says something.
    fn say(&mut self, message: &Message) {
        let text = message.text_content();
        if text.is_empty() {
            return;
        }
        let item = StreamItem { sequence: self.next, item: Some(Item::Value(Value::String(text).canonical())) };
        self.next += item.count();
        self.tell(Frame::Item(item));
    }

    /// The harness has said this, or nothing more.
    fn hear(&mut self, event: Option<Event>) {
        // Nothing is said after the end of the run.
        self.closed = event.as_ref().is_none_or(|event| matches!(event.body, Some(Body::End(_) | Body::Parked(_))));
        match event.as_ref().map(|event| &event.body) {
            Some(Some(Body::End(end))) if end.state != "COMPLETED" => {}
            None | Some(Some(Body::End(_))) => self.tell(Frame::End(StreamEnd::default())),
            Some(Some(Body::Message(message))) => self.say(message),
            Some(_) => {}
        }
        self.waiting.extend(event);
    }

    /// What the host says of the output.
    fn told(&mut self, frame: Option<&Frame>) {
        match frame {
            Some(Frame::Credit(credit)) => self.credit = self.credit.saturating_add(credit.bytes),
            Some(Frame::Cancel(_)) => {
                self.cancelled = true;
                self.waiting.retain(|event| event.kind() != EventKind::EventStream);
            }
            // There are no inputs.
            Some(Frame::Item(_) | Frame::End(_)) | None => {}
        }
    }
}

#[async_trait]
impl HarnessConnection for Connection {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        match frame {
            HostFrame::Stream(frame) => {
                self.told(frame.frame.as_ref());
                Ok(())
            }
            HostFrame::Model(result) => {
                // It is recorded as something that the turn says.
                result.message.iter().for_each(|message| self.say(message));
                self.inner.send(HostFrame::Model(result)).await
            }
            frame => self.inner.send(frame).await,
        }
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        loop {
            match self.waiting.front().map(cost) {
                Some(cost) if cost == 0 || self.credit > 0 => {
                    self.credit -= cost;
                    return Ok(self.waiting.pop_front());
                }
                // Whoever grants credit or cancels waits here anew after it.
                Some(_) => pending().await,
                None if self.closed => return Ok(None),
                None => {
                    let event = self.inner.next().await?;
                    self.hear(event);
                }
            }
        }
    }
}

/// What the output is charged for an event.
fn cost(event: &Event) -> i64 {
    match &event.body {
        Some(Body::Stream(StreamFrame { frame: Some(Frame::Item(item)), .. })) => item.cost(),
        _ => 0,
    }
}
