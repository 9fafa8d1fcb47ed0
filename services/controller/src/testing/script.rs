//! A harness that follows a script.

use std::collections::VecDeque;

use wire::event::Body;
use wire::{ApprovalRef, Event, EventKind, HarnessEnd, Message, ModelCall, ToolCall, ToolResult};

use super::events::{gated, mediated, result, usage};
use crate::ports::HostFrame;

/// One thing that a harness does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ask {
    /// Requests a completion of everything it has been told so far, so that a reply that is not the recorded one shows.
    Model,
    /// Emits what it has been told last.
    Output,
    Usage(i64),
    /// A tool it ran itself, with this id.
    Report(&'static str),
    Tool(&'static str),
    Gate(&'static str),
    /// Any event of its own execution.
    Own(Box<Event>),
    /// Any event, as it is.
    Raw(Box<Event>),
    /// Ends its stream without END.
    Close,
    /// Breaks its stream.
    Break,
}

/// What reading a harness gives.
pub(crate) enum Read {
    Event(Box<Event>),
    Closed,
    Broken,
}

/// A harness in one run.
pub(crate) struct Script {
    execution: String,
    asks: VecDeque<Ask>,
    told: Vec<String>,
    /// Frames received, for assertions.
    pub(crate) frames: Vec<HostFrame>,
    /// An effect that waits for its reply.
    awaiting: bool,
    parking: Option<ApprovalRef>,
    parked: bool,
    ended: bool,
}

impl Script {
    pub(crate) fn new(execution: &str, inputs: &[Message], asks: &[Ask]) -> Self {
        Self {
            execution: execution.into(),
            asks: asks.iter().cloned().collect(),
            told: inputs.iter().map(Message::text_content).collect(),
            frames: Vec::new(),
            awaiting: false,
            parking: None,
            parked: false,
            ended: false,
        }
    }

    /// The next event.
    ///
    /// # Panics
    /// If it is read while it waits for a reply, or after END: a host never does that.
    pub(crate) fn read(&mut self) -> Read {
        assert!(!self.awaiting, "read before the reply was sent");
        assert!(!self.ended, "read after the end");
        if let Some(reference) = self.parking.clone() {
            if std::mem::replace(&mut self.parked, true) {
                return Read::Closed;
            }
            return self.event(EventKind::EventParked, Body::Parked(reference));
        }
        match self.asks.pop_front() {
            Some(ask) => self.ask(ask),
            None => {
                self.ended = true;
                self.event(EventKind::EventEnd, Body::End(HarnessEnd { state: "COMPLETED".into(), error: None }))
            }
        }
    }

    /// Takes a reply.
    pub(crate) fn take(&mut self, frame: HostFrame) {
        match &frame {
            HostFrame::Model(reply) => {
                assert_eq!(reply.model_call_id, "correlation");
                self.told.push(reply.message.as_ref().map(Message::text_content).unwrap_or_default());
            }
            HostFrame::Tool(reply) => self.told.push(format!("{}:{}:{:?}", reply.id, reply.error, reply.output)),
            HostFrame::Park(reference) => self.parking = Some(reference.clone()),
            HostFrame::Approval(decision) => self.told.push(format!("approved: {}", decision.approved)),
            HostFrame::Cancel(_) | HostFrame::Stream(_) => {}
        }
        self.awaiting = matches!(frame, HostFrame::Approval(_));
        self.frames.push(frame);
    }

    fn ask(&mut self, ask: Ask) -> Read {
        self.awaiting = matches!(ask, Ask::Model | Ask::Tool(_) | Ask::Gate(_));
        match ask {
            Ask::Model => {
                let call = request(&self.told);
                self.event(EventKind::EventModelCall, Body::Model(call))
            }
            Ask::Output => {
                let text = self.told.last().cloned().unwrap_or_default();
                self.event(EventKind::EventOutput, Body::Message(Message::text("assistant", text)))
            }
            Ask::Usage(tokens) => self.event(EventKind::EventUsage, Body::Usage(usage(tokens))),
            Ask::Report(id) => self.report(result(id)),
            Ask::Tool(id) => self.tool(mediated(id)),
            Ask::Gate(id) => self.tool(gated(id)),
            Ask::Own(event) => Read::Event(Box::new(event.of_execution(self.execution.as_str()))),
            Ask::Raw(event) => Read::Event(event),
            Ask::Close => Read::Closed,
            Ask::Break => Read::Broken,
        }
    }

    fn tool(&self, call: ToolCall) -> Read {
        self.event(EventKind::EventToolCall, Body::Tool(call))
    }

    fn report(&self, result: ToolResult) -> Read {
        self.event(EventKind::EventToolResult, Body::Result(result))
    }

    fn event(&self, kind: EventKind, body: Body) -> Read {
        Read::Event(Box::new(Event::new(kind, body).of_execution(self.execution.as_str())))
    }
}

/// Any event of the harness's execution.
pub(crate) fn raw(kind: EventKind, body: impl Into<Option<Body>>) -> Ask {
    Ask::Own(Box::new(Event::new(kind, body)))
}

/// A raw tool call.
pub(crate) fn raw_call(call: ToolCall) -> Ask {
    raw(EventKind::EventToolCall, Body::Tool(call))
}

/// A raw tool report.
pub(crate) fn raw_report(result: ToolResult) -> Ask {
    raw(EventKind::EventToolResult, Body::Result(result))
}

/// The request that a scripted harness makes once it has been told this.
pub(crate) fn request(told: &[String]) -> ModelCall {
    ModelCall {
        model: "m".into(),
        id: "correlation".into(),
        messages: told.iter().map(|text| Message::text("user", text)).collect(),
        ..ModelCall::default()
    }
}
