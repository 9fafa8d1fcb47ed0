//! The host of an invocation.

use std::sync::Arc;

use futures::FutureExt;
use sdk::schema::Schema;
use sdk::{Agent, Agents, Harness, Method, Run, Turn};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::stream_frame::Frame as Said;
use wire::stream_item::Item;
use wire::{
    EventKind, HarnessDescriptor, Invocation, MethodReturn, StreamCancel, StreamCredit, StreamEnd, StreamFrame,
    StreamItem,
};

use super::actors::{EXECUTION, Host, SESSION};

/// A harness of one agent, `tested`, made from `constructor`, with one method.
pub fn agents(constructor: impl Into<Schema>, method: Method) -> Agents {
    Agents::new("h", "1", [Agent::new("tested").constructor(constructor).method(method)]).expect("sound agents")
}

pub fn descriptor(method: Method) -> HarnessDescriptor {
    agents(sdk::schema::record([]), method).describe()
}

/// Invokes a method called `m` of an agent that is made from nothing.
pub fn invoke(method: Method, parameters: &str) -> Host {
    invoke_on(agents(sdk::schema::record([]), method), &record(&[]), parameters)
}

pub fn invoke_on(agents: Agents, constructor: &str, parameters: &str) -> Host {
    let invocation = Invocation {
        agent_type: "tested".into(),
        method: "m".into(),
        constructor_parameters: constructor.into(),
        method_parameters: parameters.into(),
        ..Invocation::default()
    };
    let turn = Turn::new(SESSION, EXECUTION).expect("a turn").with_invocation(Some(invocation));
    Host { run: Run::new(Arc::new(agents), turn) }
}

impl Host {
    pub fn say(&mut self, stream: &str, said: Said) {
        self.send(Frame::Stream(StreamFrame { stream: stream.into(), frame: Some(said) }));
    }

    pub fn value(&mut self, stream: &str, sequence: i64, value: &str) {
        self.say(stream, item(sequence, Item::Value(value.into())));
    }

    pub fn octets(&mut self, stream: &str, sequence: i64, octets: &[u8]) {
        self.say(stream, item(sequence, Item::Octets(octets.into())));
    }

    pub fn end_input(&mut self, stream: &str) {
        self.say(stream, end());
    }

    /// What the harness says of a stream next.
    pub async fn hears(&mut self) -> (String, Said) {
        match self.expect(EventKind::EventStream).await {
            Body::Stream(StreamFrame { stream, frame }) => (stream, frame.expect("a frame")),
            other => panic!("{other:?}"),
        }
    }

    pub async fn expect_said(&mut self, stream: &str, said: Said) {
        assert_eq!(self.hears().await, (stream.to_owned(), said));
    }

    pub async fn expect_return(&mut self, result: &str) {
        let expected = Body::Returned(MethodReturn { result: result.into() });
        assert_eq!(self.expect(EventKind::EventReturn).await, expected);
    }

    /// The harness waits for something.
    pub fn expect_silence(&mut self) {
        assert_eq!(self.event().now_or_never(), None);
    }
}

pub fn item(sequence: i64, item: Item) -> Said {
    Said::Item(StreamItem { sequence, item: Some(item) })
}

pub fn value_item(sequence: i64, value: &str) -> Said {
    item(sequence, Item::Value(value.into()))
}

pub fn end() -> Said {
    Said::End(StreamEnd { error: None })
}

pub fn end_with(error: &str) -> Said {
    Said::End(StreamEnd { error: Some(error.into()) })
}

pub fn cancel(reason: &str) -> Said {
    Said::Cancel(StreamCancel { reason: reason.into() })
}

pub fn credit(bytes: i64) -> Said {
    Said::Credit(StreamCredit { bytes })
}

/// What an item costs its writer.
pub fn cost(said: &Said) -> i64 {
    let Said::Item(item) = said else { panic!("no item") };
    item.cost()
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

pub fn number(kind: &str, value: &str) -> String {
    format!(r#"{{"kind":"{kind}","value":{value}}}"#)
}
