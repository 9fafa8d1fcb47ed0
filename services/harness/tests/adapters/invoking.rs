//! A host of invocations that keeps to what it is granted.

use std::collections::{BTreeMap, VecDeque};

use controller::ports::{HarnessConnection, HarnessPlacement, HostFrame, TurnStart};
use wire::event::Body;
use wire::stream_frame::Frame;
use wire::stream_item::Item;
use wire::{HarnessEnd, Invocation, StreamCredit, StreamEnd, StreamFrame, StreamItem};

use super::actors::{start, turn};

/// What is invoked, and what goes in.
pub struct Invoking {
    pub agent_type: &'static str,
    pub method: &'static str,
    pub constructor: String,
    pub parameters: String,
    /// The inputs by name, with all their items.
    pub inputs: Vec<(&'static str, Vec<Item>)>,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Invoked {
    /// The results: one, if all is well.
    pub results: Vec<String>,
    /// The items of each output.
    pub outputs: BTreeMap<String, Vec<Item>>,
    /// How each output ended.
    pub ends: BTreeMap<String, Option<String>>,
    /// The inputs that were not wanted any more.
    pub dropped: Vec<String>,
    /// How it all ended.
    pub end: HarnessEnd,
}

struct Source {
    name: &'static str,
    items: VecDeque<Item>,
    next: i64,
    credit: i64,
    ended: bool,
}

impl Invoking {
    pub fn new(agent_type: &'static str, method: &'static str, parameters: &[&str]) -> Self {
        Self { agent_type, method, constructor: record(&[]), parameters: record(parameters), inputs: Vec::new() }
    }

    pub fn input(mut self, name: &'static str, items: impl IntoIterator<Item = Item>) -> Self {
        self.inputs.push((name, items.into_iter().collect()));
        self
    }

    /// Sends the inputs and reads the outputs as they come.
    pub async fn on(self, placement: &dyn HarnessPlacement) -> Invoked {
        let invocation = Invocation {
            agent_type: self.agent_type.into(),
            method: self.method.into(),
            constructor_parameters: self.constructor,
            method_parameters: self.parameters,
            ..Invocation::default()
        };
        let mut connection = start(placement, TurnStart { invocation: Some(invocation), ..turn() }).await;
        let mut sources: Vec<_> = self.inputs.into_iter().map(Source::new).collect();
        let mut invoked = Invoked::default();
        loop {
            for source in &mut sources {
                source.send(connection.as_mut()).await;
            }
            match connection.next().await.expect("a sound stream").expect("an end before").body {
                Some(Body::Stream(frame)) => invoked.take(frame, &mut sources, connection.as_mut()).await,
                Some(Body::Returned(returned)) => invoked.results.push(returned.result),
                Some(Body::End(end)) => {
                    invoked.end = end;
                    return invoked;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Invoked {
    async fn take(&mut self, frame: StreamFrame, sources: &mut [Source], connection: &mut dyn HarnessConnection) {
        let StreamFrame { stream, frame } = frame;
        let source = sources.iter_mut().find(|source| source.name == stream);
        match frame.expect("a frame") {
            Frame::Item(item) => {
                tell(connection, &stream, Frame::Credit(StreamCredit { bytes: item.cost() })).await;
                self.outputs.entry(stream).or_default().push(item.item.expect("an item"));
            }
            Frame::End(end) => drop(self.ends.insert(stream, end.error)),
            Frame::Credit(credit) => source.expect("an input").credit += credit.bytes,
            Frame::Cancel(cancel) => {
                assert_eq!(cancel.reason, "consumer-drop");
                source.expect("an input").ended = true;
                self.dropped.push(stream);
            }
        }
    }

    /// The only output, which ended well, as values.
    pub fn values(&self) -> Vec<&str> {
        self.only_output().iter().map(text_of).collect()
    }

    /// The only output, which ended well, as bytes.
    pub fn octets(&self) -> Vec<u8> {
        let octets = |item: &Item| match item {
            Item::Octets(octets) => octets.clone(),
            other => panic!("{other:?}"),
        };
        self.only_output().iter().flat_map(octets).collect()
    }

    pub fn only_output(&self) -> &[Item] {
        assert_eq!(self.end.state, "COMPLETED", "{:?}", self.end);
        assert_eq!(self.results, [stream("output-1")]);
        assert_eq!(self.ends.get("output-1"), Some(&None));
        self.outputs.get("output-1").map_or(&[], Vec::as_slice)
    }

    /// The only result of an invocation without outputs.
    pub fn result(&self) -> &str {
        assert_eq!((self.end.state.as_str(), self.outputs.len()), ("COMPLETED", 0), "{:?}", self.end);
        let [result] = self.results.as_slice() else { panic!("{:?}", self.results) };
        result
    }

    pub fn failure(&self) -> &str {
        assert_eq!(self.end.state, "FAILED");
        &self.end.error.as_ref().expect("an error").description
    }
}

impl Source {
    fn new((name, items): (&'static str, Vec<Item>)) -> Self {
        Self { name, items: items.into(), next: 0, credit: StreamCredit::INITIAL, ended: false }
    }

    /// As much as may be sent.
    async fn send(&mut self, connection: &mut dyn HarnessConnection) {
        while !self.ended && self.credit > 0 {
            let Some(item) = self.items.pop_front() else {
                self.ended = true;
                return tell(connection, self.name, Frame::End(StreamEnd::default())).await;
            };
            let item = StreamItem { sequence: self.next, item: Some(item) };
            self.next += item.count();
            self.credit -= item.cost();
            tell(connection, self.name, Frame::Item(item)).await;
        }
    }
}

async fn tell(connection: &mut dyn HarnessConnection, stream: &str, frame: Frame) {
    let frame = StreamFrame { stream: stream.into(), frame: Some(frame) };
    connection.send(HostFrame::Stream(frame)).await.expect("a harness that reads");
}

fn text_of(item: &Item) -> &str {
    let Item::Value(value) = item else { panic!("{item:?}") };
    value
}

pub fn value(value: &str) -> Item {
    Item::Value(value.into())
}

pub fn strings<'s>(texts: impl IntoIterator<Item = &'s str>) -> Vec<Item> {
    texts.into_iter().map(|text| Item::Value(string(text))).collect()
}

pub fn record(fields: &[&str]) -> String {
    format!(r#"{{"kind":"record","value":{{"fields":[{}]}}}}"#, fields.join(","))
}

pub fn stream(name: &str) -> String {
    format!(r#"{{"kind":"stream","value":{{"streamToken":"{name}"}}}}"#)
}

pub fn string(text: &str) -> String {
    format!(r#"{{"kind":"string","value":"{text}"}}"#)
}

pub fn u64(value: u64) -> String {
    format!(r#"{{"kind":"u64","value":"{value}"}}"#)
}
