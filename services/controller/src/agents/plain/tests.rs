//! Invocations of harnesses that only know plain turns.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use journal::{ExecutionId, SessionUid};
use wire::event::Body;
use wire::protobuf::{Struct, Value, value};
use wire::stream_frame::Frame;
use wire::stream_item::Item;
use wire::{
    Event, EventKind, FilePart, HarnessEnd, History, Invocation, Message, MethodReturn, ModelCall, ModelResult, Part,
    StreamCancel, StreamCredit, StreamEnd, StreamFrame, StreamItem, part,
};

use super::*;
use crate::ports::{DescribeError, HarnessConnection, HarnessFailure, HostFrame, TurnStart};

/// A harness that says this, and keeps what it is told.
#[derive(Clone, Default)]
struct Plain {
    says: Vec<Event>,
    turn: Arc<Mutex<Option<TurnStart>>>,
    told: Arc<Mutex<Vec<HostFrame>>>,
}

#[async_trait]
impl HarnessChannel for Plain {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        Ok(HarnessDescriptor::default())
    }

    async fn connect(mut self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        self.says.reverse();
        *self.turn.lock().unwrap() = Some(turn);
        Ok(self)
    }
}

#[async_trait]
impl HarnessConnection for Plain {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        self.told.lock().unwrap().push(frame);
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        Ok(self.says.pop())
    }
}

const EXECUTION: &str = "inv-00000000-0000-5000-8000-000000000001";

fn parameters(texts: &[&str]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!(r#"{{"kind":"string","value":"{text}"}}"#)).collect();
    let list = format!(r#"{{"kind":"list","value":{{"elements":[{}]}}}}"#, texts.join(","));
    format!(r#"{{"kind":"record","value":{{"fields":[{list}]}}}}"#)
}

fn turn(texts: &[&str]) -> TurnStart {
    let invocation = Invocation { method_parameters: parameters(texts), ..Invocation::default() };
    TurnStart {
        session: SessionUid::parse("sess-1").unwrap(),
        execution: ExecutionId::new(EXECUTION),
        history: History::default(),
        inputs: vec![account("methodParameters", &parameters(texts))],
        config: Vec::new(),
        resume_from_seq: 0,
        request_id: String::new(),
        invocation: Some(invocation),
    }
}

/// What the host records of an invocation.
fn account(member: &str, text: &str) -> Message {
    let value = Value { kind: Some(value::Kind::StringValue(text.into())) };
    let data = Part::data(Struct { fields: [(member.to_owned(), value)].into() });
    Message { role: "user".into(), parts: vec![data] }
}

fn event(kind: EventKind, body: Body) -> Event {
    Event::new(kind, body).of_execution(EXECUTION)
}

fn output(text: &str) -> Event {
    event(EventKind::EventOutput, Body::Message(Message::text("assistant", text)))
}

fn ended(state: &str) -> Event {
    event(EventKind::EventEnd, Body::End(HarnessEnd { state: state.into(), ..HarnessEnd::default() }))
}

fn returned() -> Event {
    let result = r#"{"kind":"stream","value":{"streamToken":"output"}}"#.to_owned();
    event(EventKind::EventReturn, Body::Returned(MethodReturn { result }))
}

fn of_output(frame: Frame) -> StreamFrame {
    StreamFrame { stream: "output".into(), frame: Some(frame) }
}

fn said(frame: Frame) -> Event {
    event(EventKind::EventStream, Body::Stream(of_output(frame)))
}

fn item(sequence: i64, text: &str) -> Event {
    let value = format!(r#"{{"kind":"string","value":"{text}"}}"#);
    said(Frame::Item(StreamItem { sequence, item: Some(Item::Value(value)) }))
}

fn end() -> Event {
    said(Frame::End(StreamEnd::default()))
}

async fn connect(plain: &Plain, turn: TurnStart) -> Box<dyn HarnessConnection> {
    let channel = translated(&HarnessDescriptor::default(), Box::new(plain.clone()));
    channel.connect(turn).await.unwrap()
}

fn saying(says: impl IntoIterator<Item = Event>) -> Plain {
    Plain { says: says.into_iter().collect(), ..Plain::default() }
}

async fn expect(connection: &mut dyn HarnessConnection, events: impl IntoIterator<Item = Event>) {
    for event in events {
        assert_eq!(connection.next().await.unwrap(), Some(event));
    }
}

#[tokio::test]
async fn messages_are_the_inputs_and_whatever_is_said_is_an_item() {
    let question = event(EventKind::EventModelCall, Body::Model(ModelCall::default()));
    let plain = saying([output("a"), question.clone(), output(""), ended("COMPLETED")]);
    let mut connection = connect(&plain, turn(&["hello", "you"])).await;
    let connection = connection.as_mut();
    expect(connection, [returned(), item(0, "a"), output("a"), question]).await;
    let message = Some(Message::text("assistant", "b"));
    let answer = HostFrame::Model(ModelResult { message, ..ModelResult::default() });
    connection.send(answer.clone()).await.unwrap();
    expect(connection, [item(1, "b"), output(""), end(), ended("COMPLETED")]).await;
    assert_eq!(connection.next().await.unwrap(), None);

    assert_eq!(*plain.told.lock().unwrap(), [answer]);
    let told = plain.turn.lock().unwrap().take().unwrap();
    assert_eq!(told.inputs, [Message::text("user", "hello"), Message::text("user", "you")]);
    assert_eq!(told.invocation, None);
}

#[tokio::test]
async fn output_of_a_stream_that_is_closed_ends_and_that_of_a_failure_does_not() {
    let mut closed = connect(&saying([output("a")]), turn(&[])).await;
    expect(closed.as_mut(), [returned(), item(0, "a"), output("a"), end()]).await;
    assert_eq!(closed.next().await.unwrap(), None);
    let mut failed = connect(&saying([ended("FAILED")]), turn(&[])).await;
    expect(failed.as_mut(), [returned(), ended("FAILED")]).await;
}

#[tokio::test]
async fn items_wait_for_credit_and_are_thrown_away_when_nobody_wants_them() {
    let large = "x".repeat(1 << 20);
    let plain = saying([output(&large), output("b"), output("c"), ended("COMPLETED")]);
    let mut connection = connect(&plain, turn(&[])).await;
    let connection = connection.as_mut();
    expect(connection, [returned(), item(0, &large), output(&large)]).await;
    assert!(connection.next().now_or_never().is_none(), "it waits");
    connection.send(HostFrame::Stream(of_output(Frame::Credit(StreamCredit { bytes: 1 << 20 })))).await.unwrap();
    expect(connection, [item(1, "b"), output("b")]).await;
    let reason = "cancelled".to_owned();
    connection.send(HostFrame::Stream(of_output(Frame::Cancel(StreamCancel { reason })))).await.unwrap();
    expect(connection, [output("c"), ended("COMPLETED")]).await;
    assert!(plain.told.lock().unwrap().is_empty(), "the harness knows of no streams");
}

#[tokio::test]
async fn history_has_the_messages_and_not_what_the_host_records() {
    let message = |kind, message| event(kind, Body::Message(message));
    let input = message(EventKind::EventInput, account("methodParameters", &parameters(&["q", "r"])));
    let result = message(EventKind::EventOutput, account("result", "{}"));
    let mut streams = account("itemCount", "1");
    streams.parts.push(part::Part::File(FilePart::default()).into());
    let streams = message(EventKind::EventOutput, streams);
    let before = Event::new(EventKind::EventInput, Body::Message(account("own", "data"))).of_execution("e1");
    let start = Event::new(EventKind::EventExecutionStart, None).of_execution(EXECUTION);

    let asked = |text| message(EventKind::EventInput, Message::text("user", text));
    let plain = Plain::default();
    let history = vec![before.clone(), start.clone(), input, result, output("a"), streams];
    let again = TurnStart { history: history.into(), invocation: None, ..turn(&[]) };
    connect(&plain, again).await;
    let told = plain.turn.lock().unwrap().take().unwrap();
    assert_eq!(*told.history, [before, start, asked("q"), asked("r"), output("a")]);
}

#[tokio::test]
async fn parameters_that_are_no_messages_fail_the_turn() {
    let mut bad = turn(&[]);
    bad.invocation = Some(Invocation::default());
    let channel = translated(&HarnessDescriptor::default(), Box::new(Plain::default()));
    assert!(channel.connect(bad).await.is_err());
}
