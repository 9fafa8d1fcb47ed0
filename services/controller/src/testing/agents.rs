//! A harness of typed agents that follow scripts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use wire::event::Body;
use wire::stream_frame::Frame;
use wire::stream_item::Item;
use wire::{
    Capabilities, Event, EventKind, HarnessDescriptor, HarnessEnd, Invocation, MethodReturn, Resumability,
    StreamCancel, StreamCredit, StreamEnd, StreamFrame, StreamItem,
};

use crate::ports::{
    DescribeError, HarnessChannel, HarnessConnection, HarnessDirectory, HarnessFailure, HarnessPlacement,
    HarnessSource, HarnessUnavailable, HostFrame, ServedHarness, TurnStart,
};

/// What an agent says next, given what it was told since; `None`: it waits for more.
pub(crate) type Script = Box<dyn FnMut(&mut VecDeque<StreamFrame>) -> Option<Said> + Send>;

/// Something that an agent says.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Frame(String, Frame),
    Return(String),
    /// Any other event.
    Event(EventKind, Body),
    Completed,
    Failed,
    /// The stream breaks.
    Breaks,
    /// Something that cannot be read.
    Garbage,
    /// The stream is closed without a word.
    Closes,
}

/// The harness, under any name. Clones are the same.
#[derive(Clone)]
pub(crate) struct Agents {
    state: Arc<Mutex<State>>,
}

struct State {
    script: Arc<dyn Fn(&Invocation) -> Script + Send + Sync>,
    reachable: bool,
    only_invocations: bool,
    /// What was invoked.
    invoked: Vec<Invocation>,
}

impl Agents {
    pub(crate) fn new(script: impl Fn(&Invocation) -> Script + Send + Sync + 'static) -> Self {
        let state = State { script: Arc::new(script), reachable: true, only_invocations: false, invoked: Vec::new() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// From now on its agents follow another script.
    pub(crate) fn follow(&self, script: impl Fn(&Invocation) -> Script + Send + Sync + 'static) {
        self.state().script = Arc::new(script);
    }

    pub(crate) fn set_reachable(&self, reachable: bool) {
        self.state().reachable = reachable;
    }

    /// From now on it says that it takes no plain turns. It never does.
    pub(crate) fn say_invocations_alone(&self) {
        self.state().only_invocations = true;
    }

    /// The idempotency keys of what was invoked, in order, each run counted.
    pub(crate) fn invoked(&self) -> Vec<String> {
        self.state().invoked.iter().map(|invocation| invocation.idempotency_key.clone()).collect()
    }

    /// What was invoked last.
    pub(crate) fn last(&self) -> Invocation {
        self.state().invoked.last().cloned().expect("something was invoked")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl HarnessDirectory for Agents {
    fn default_name(&self) -> &str {
        "agents"
    }

    fn find(&self, _: &str) -> Option<ServedHarness> {
        Some(ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: Resumability::StatelessReplay,
            runtime: Arc::new(self.clone()),
        })
    }

    fn names(&self) -> Vec<String> {
        vec![self.default_name().to_owned()]
    }
}

#[async_trait]
impl HarnessPlacement for Agents {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        match self.state().reachable {
            true => Ok(Box::new(self.clone())),
            false => Err(HarnessUnavailable("it is away".into())),
        }
    }
}

#[async_trait]
impl HarnessChannel for Agents {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        let capabilities =
            Capabilities { resumability: Resumability::StatelessReplay.into(), ..Capabilities::default() };
        let agent_types = vec![wire::AgentType { name: "agent".into(), ..wire::AgentType::default() }];
        let (id, version) = ("agents".to_owned(), "1".to_owned());
        let (capabilities, only_invocations) = (Some(capabilities), self.state().only_invocations);
        let rest = HarnessDescriptor::default();
        Ok(HarnessDescriptor { id, version, capabilities, agent_types, only_invocations, ..rest })
    }

    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        let invocation = turn.invocation.ok_or_else(|| HarnessFailure::new("nothing is invoked"))?;
        let mut state = self.state();
        let script = (state.script)(&invocation);
        state.invoked.push(invocation);
        let (execution, told) = (turn.execution.to_string(), VecDeque::new());
        Ok(Box::new(Connection { execution, script, told, parking: None, has_ended: false }))
    }
}

struct Connection {
    execution: String,
    script: Script,
    told: VecDeque<StreamFrame>,
    /// It was told to park. It first says one thing more, then that it parks, and then nothing.
    parking: Option<VecDeque<Said>>,
    /// Its run is over, and with it its stream.
    has_ended: bool,
}

#[async_trait]
impl HarnessConnection for Connection {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        match frame {
            HostFrame::Stream(frame) => self.told.push_back(frame),
            HostFrame::Park(reference) => {
                let parked = Said::Event(EventKind::EventParked, Body::Parked(reference));
                self.parking = Some([ended("parking"), parked, Said::Closes].into());
            }
            _ => {}
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        if self.has_ended {
            return Ok(None);
        }
        let said = match &mut self.parking {
            Some(parking) => parking.pop_front(),
            None => (self.script)(&mut self.told),
        };
        let Some(said) = said else { return std::future::pending().await };
        self.has_ended = matches!(said, Said::Completed | Said::Failed | Said::Closes);
        let end = |state: &str| Body::End(HarnessEnd { state: state.into(), error: None });
        let (kind, body) = match said {
            Said::Frame(stream, frame) => {
                (EventKind::EventStream, Body::Stream(StreamFrame { stream, frame: Some(frame) }))
            }
            Said::Return(result) => (EventKind::EventReturn, Body::Returned(MethodReturn { result })),
            Said::Event(kind, body) => (kind, body),
            Said::Completed => (EventKind::EventEnd, end(HarnessEnd::COMPLETED)),
            Said::Failed => (EventKind::EventEnd, end("FAILED")),
            Said::Garbage => return Err(HarnessFailure::lasting("it cannot be read")),
            Said::Breaks => return Err(HarnessFailure::new("it broke")),
            Said::Closes => return Ok(None),
        };
        Ok(Some(Event::new(kind, body).of_execution(self.execution.as_str())))
    }
}

/// Says these things, one after the other, whatever it is told.
pub(crate) fn says(what: impl IntoIterator<Item = Said>) -> Script {
    let mut what: VecDeque<_> = what.into_iter().collect();
    Box::new(move |_| what.pop_front())
}

/// Gives back what comes on its only input, and ends as that does.
pub(crate) fn echo(invocation: &Invocation) -> Script {
    let input = tokens(&invocation.method_parameters).remove(0);
    let mut out = VecDeque::from([Said::Return(stream("out"))]);
    Box::new(move |told| {
        for StreamFrame { stream, frame } in told.drain(..) {
            match frame.expect("a frame") {
                Frame::Item(item) => out.push_back(Said::Frame("out".into(), Frame::Item(item))),
                Frame::End(_) => out.extend([ended("out"), Said::Completed]),
                Frame::Cancel(StreamCancel { reason }) if stream == input => {
                    let end = StreamEnd { error: Some(reason) };
                    out.extend([Said::Frame("out".into(), Frame::End(end)), Said::Completed]);
                }
                Frame::Cancel(_) => out.push_back(Said::Completed),
                // So it never has more on its way than it may.
                credit @ Frame::Credit(_) => out.push_back(Said::Frame(input.clone(), credit)),
            }
        }
        out.pop_front()
    })
}

/// A value that is a stream of this name.
pub(crate) fn stream(name: &str) -> String {
    format!(r#"{{"kind":"stream","value":{{"streamToken":"{name}"}}}}"#)
}

/// A value that is a string.
pub(crate) fn string(text: &str) -> String {
    format!(r#"{{"kind":"string","value":"{text}"}}"#)
}

/// The next item of a stream.
pub(crate) fn item(stream: &str, sequence: i64, value: impl Into<String>) -> Said {
    let item = StreamItem { sequence, item: Some(Item::Value(value.into())) };
    Said::Frame(stream.into(), Frame::Item(item))
}

/// Octets of a stream.
pub(crate) fn octets(stream: &str, sequence: i64, octets: &[u8]) -> Said {
    let item = StreamItem { sequence, item: Some(Item::Octets(octets.into())) };
    Said::Frame(stream.into(), Frame::Item(item))
}

/// The end of a stream.
pub(crate) fn ended(stream: &str) -> Said {
    Said::Frame(stream.into(), Frame::End(StreamEnd::default()))
}

/// Credit for an input.
pub(crate) fn credit(stream: &str, bytes: i64) -> Said {
    Said::Frame(stream.into(), Frame::Credit(StreamCredit { bytes }))
}

/// The names of the streams in a value, in document order.
pub(crate) fn tokens(value: &str) -> Vec<String> {
    let rest = value.split(r#""streamToken":""#).skip(1);
    rest.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}
