use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use super::*;
use crate::graph::{Graph, Lane};
use crate::json::Json;
use crate::message::OutputOutcome;
use crate::spec;
use crate::value::{StreamRef, Value};

const ATTEMPT: &str = "ca7e5a82-2064-4c18-8359-806145c1562f";

/// A connection with a driver that makes everything durable at once.
struct Driven {
    connection: Connection,
    stored: HashMap<Uuid, Vec<(u64, InputItem)>>,
    /// The codes of rejections, and then the close code.
    rejected: Vec<ErrorCode>,
    said: Vec<String>,
    closed: Option<u16>,
}

impl Driven {
    fn new() -> Self {
        Self { connection: Connection::new(1), stored: HashMap::new(), rejected: vec![], said: vec![], closed: None }
    }

    /// With these streams; each is known by its channel.
    fn open(streams: Vec<Stream>) -> Self {
        let mut driven = Self::new();
        driven.text(&start());
        driven.on(Event::Accepted(Acceptance {
            attempt: uuid(ATTEMPT),
            idempotency_key: "k".into(),
            session_token: "t".into(),
            streams,
        }));
        driven
    }

    fn text(&mut self, text: &str) {
        let actions = self.connection.text(text.as_bytes());
        self.perform(actions);
    }

    fn binary(&mut self, message: Vec<u8>) {
        let actions = self.connection.binary(&message.into());
        self.perform(actions);
    }

    fn on(&mut self, event: Event) {
        let actions = self.connection.on(event);
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action<'_>>) {
        for action in actions {
            if let Some(event) = self.performed(action) {
                self.on(event);
            }
        }
    }

    fn performed(&mut self, action: Action<'_>) -> Option<Event> {
        match action {
            Action::Send(text) => {
                if let Ok(ServerMessage::Rejected(rejection)) = ServerMessage::decode(text.as_bytes()) {
                    self.rejected.push(rejection.code);
                }
                self.said.push(text);
                None
            }
            Action::Store { stream, sequence, item } => {
                let through = sequence + count(&item);
                self.stored.entry(stream).or_default().push((sequence, item));
                Some(Event::Stored { stream, through, streams: Vec::new() })
            }
            Action::Compare { stream, sequence, item } => {
                let through = sequence + count(&item);
                let stored = self.stored.get(&stream).into_iter().flatten();
                let same = stored.into_iter().any(|(at, stored)| *at == sequence && text(stored) == text(&item));
                let conflict = Refusal::new(ErrorCode::InputConflict, "other content");
                Some(if same {
                    Event::Stored { stream, through, streams: Vec::new() }
                } else {
                    Event::Contradiction(conflict)
                })
            }
            Action::End { stream, .. } => Some(Event::EndStored { stream }),
            Action::CancelInput { stream, reason } => Some(Event::CancelStored { stream, reason }),
            Action::Detach => Some(Event::Detached),
            Action::Close(code) => {
                self.closed = Some(code);
                None
            }
            Action::Start(_) | Action::Attach(_) | Action::SendBinary(..) | Action::CancelOutput { .. } => None,
        }
    }

    /// What was said since this was asked last, as canonical text.
    fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }
}

fn count(item: &InputItem) -> u64 {
    match item {
        InputItem::Value(..) => 1,
        InputItem::Binary(items) => items.count(),
    }
}

/// What an item is, in whatever way it came.
fn text(item: &InputItem) -> String {
    match item {
        InputItem::Value(value, _) => value.canonical(),
        InputItem::Binary(items) => format!("{items:?}"),
    }
}

fn uuid(text: &str) -> Uuid {
    Uuid::parse_str(text).unwrap()
}

fn start() -> String {
    let record = r#"{"kind":"record","value":{"fields":[]}}"#;
    format!(
        r#"{{"attemptId":"{ATTEMPT}","config":[],"idempotencyKey":"k","methodParameters":{record},"selector":{{"agentType":"a","application":"b","constructorParameters":{record},"environment":"c","method":"d"}},"type":"invocationStart","version":1}}"#
    )
}

fn element(of: &str) -> Element {
    let graph = Graph::read(&Json::parse(format!(r#"{{"root":{of}}}"#).as_bytes()).unwrap()).unwrap();
    let of = graph.root().clone();
    Element::new(Arc::new(graph), of)
}

const STRING: &str = r#"{"kind":"string","value":{}}"#;

fn input(id: u128, of: &str) -> Stream {
    input_at(id, of, 0, None)
}

/// An input that has come so far.
fn input_at(id: u128, of: &str, high_water: u64, terminal: Option<InputTerminal>) -> Stream {
    let way = StreamWay::Input { element: Box::new(element(of)), provisional: None, high_water, terminal };
    Stream { id: Uuid::from_u128(id), token: format!("in{id}"), way }
}

fn output(id: u128) -> Stream {
    Stream { id: Uuid::from_u128(id), token: format!("out{id}"), way: StreamWay::Output }
}

#[derive(Deserialize)]
struct Vectors {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    name: String,
    lane: String,
    state: Option<serde_json::Value>,
    #[serde(default)]
    frames: Vec<Frame>,
    expected_code: String,
}

#[derive(Deserialize)]
struct Before {
    phase: String,
    channels: Vec<Channel>,
}

#[derive(Deserialize)]
struct Channel {
    channel: u32,
    direction: String,
    lane: String,
    element: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Frame {
    text: Option<String>,
    hex: Option<String>,
}

impl Channel {
    fn stream(&self) -> Stream {
        let of = match (&self.element, self.lane.as_str()) {
            (Some(graph), _) => graph["root"].to_string(),
            (None, "u8") => r#"{"kind":"u8","value":{}}"#.to_owned(),
            (None, "binary") => r#"{"kind":"binary","value":{"restrictions":{}}}"#.to_owned(),
            (None, _) => STRING.to_owned(),
        };
        let id = self.channel.into();
        let mut stream = if self.direction == "input" { input(id, &of) } else { output(id) };
        if let (StreamWay::Input { element, .. }, "json") = (&mut stream.way, self.lane.as_str()) {
            // One of them says so of a type whose items travel otherwise.
            element.lane = Lane::Json;
        }
        stream
    }
}

#[test]
fn sections_9_to_13_published_sequences_are_refused_with_their_code() {
    let Some(Vectors { vectors }) = spec::vectors("malformed.json") else { return };
    let vectors: Vec<Vector> = vectors;
    for vector in vectors.iter().filter(|vector| vector.lane == "session") {
        let before: Before = serde_json::from_value(vector.state.clone().unwrap()).unwrap();
        let mut driven = match before.phase.as_str() {
            "awaiting-first-message" => Driven::new(),
            // Streams are numbered in their order, from the first one's number on.
            _ => {
                let mut channels: Vec<_> = before.channels.iter().collect();
                channels.sort_by_key(|channel| channel.channel);
                let mut driven = Driven::open(vec![]);
                driven.connection.next_channel = channels.first().map_or(1, |channel| channel.channel);
                let streams = channels.iter().map(|channel| channel.stream()).collect();
                let State::Open(open) = &mut driven.connection.state else { panic!("not open") };
                open.install(streams, &mut driven.connection.next_channel);
                driven
            }
        };
        let (last, earlier) = vector.frames.split_last().unwrap();
        for frame in earlier {
            driven.frame(frame);
            assert_eq!(driven.rejected, [], "{}", vector.name);
        }
        driven.frame(last);
        let code = driven.rejected.first().map_or("protocol-error", |code| code.as_str());
        assert_eq!(code, vector.expected_code, "{}", vector.name);
        assert_eq!(driven.closed, Some(1002), "{}", vector.name);
    }
}

impl Driven {
    fn frame(&mut self, frame: &Frame) {
        match (&frame.text, &frame.hex) {
            (Some(text), _) => self.text(text),
            (None, Some(hex)) => self.binary(hex::decode(hex).unwrap()),
            (None, None) => panic!("an empty frame"),
        }
    }
}

fn item(channel: u32, sequence: u64, text: &str) -> String {
    format!(
        r#"{{"channel":{channel},"sequence":"{sequence}","type":"inputStreamItem","value":{{"kind":"string","value":"{text}"}},"version":1}}"#
    )
}

fn end(channel: u32, sequence: u64) -> String {
    format!(r#"{{"channel":{channel},"sequence":"{sequence}","type":"inputStreamEnd","version":1}}"#)
}

fn cancel(channel: u32) -> String {
    format!(r#"{{"channel":{channel},"reason":"cancelled","type":"streamCancel","version":1}}"#)
}

fn ack(channel: u32, sequence: u64, terminal: bool) -> String {
    ServerMessage::Ack { channel, sequence, mappings: Vec::new(), terminal }.encode()
}

#[test]
fn section_9_a_connection_that_is_accepted_says_so_first_with_every_stream() {
    let mut driven = Driven::open(vec![input(1, STRING), output(2)]);
    let said = driven.said();
    let Ok(ServerMessage::Accepted { attempt, mappings, .. }) = ServerMessage::decode(said[0].as_bytes()) else {
        panic!("{said:?}")
    };
    assert_eq!(attempt, uuid(ATTEMPT));
    assert_eq!(mappings.iter().map(|mapping| mapping.channel).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn w2_refusals_close_with_the_code_of_their_kind() {
    let refused = |code| {
        let mut driven = Driven::new();
        driven.text(&start());
        driven.on(Event::Refused(Refusal::new(code, "no"), false));
        (driven.rejected.clone(), driven.closed)
    };
    assert_eq!(refused(ErrorCode::NotFound), (vec![ErrorCode::NotFound], Some(1000)));
    assert_eq!(refused(ErrorCode::InternalError), (vec![ErrorCode::InternalError], Some(1011)));
    let mut driven = Driven::new();
    driven.text("{");
    assert_eq!((driven.rejected.clone(), driven.closed), (vec![ErrorCode::MalformedMessage], Some(1002)));
}

#[test]
fn section_9_a_client_that_does_not_wait_for_acceptance_is_given_up_and_what_it_started_is_detached() {
    for accepted in [true, false] {
        let mut driven = Driven::new();
        driven.text(&start());
        driven.text(&end(1, 0));
        assert_eq!((driven.rejected.as_slice(), driven.closed), ([ErrorCode::ProtocolError].as_slice(), None));
        let acceptance = Acceptance {
            attempt: uuid(ATTEMPT),
            idempotency_key: "k".into(),
            session_token: "t".into(),
            streams: vec![],
        };
        let refusal = Refusal::new(ErrorCode::NotFound, "no");
        driven.on(if accepted { Event::Accepted(acceptance) } else { Event::Refused(refusal, false) });
        assert_eq!(driven.closed, Some(1002));
        assert_eq!(driven.said.len(), 1, "nothing but the rejection was sent");
    }
}

#[test]
fn w1_a_violation_is_told_with_the_attempt_and_closes_once_the_session_is_detached() {
    let mut connection = Driven::open(vec![input(1, STRING)]).connection;
    let actions = connection.text(b"{");
    let [Action::Send(text), Action::Detach] = actions.as_slice() else { panic!("{actions:?}") };
    let Ok(ServerMessage::Rejected(rejection)) = ServerMessage::decode(text.as_bytes()) else { panic!("{text}") };
    assert_eq!((rejection.attempt, rejection.retryable), (Some(uuid(ATTEMPT)), false));
    assert!(connection.text(item(1, 0, "a").as_bytes()).is_empty(), "reading has stopped");
    assert!(matches!(connection.on(Event::Detached).as_slice(), [Action::Close(1002)]));
}

#[test]
fn i2_to_i6_items_and_ends_are_acknowledged_in_order_and_repetitions_again() {
    let mut driven = Driven::open(vec![input(1, STRING)]);
    driven.said();
    for message in [item(1, 0, "a"), item(1, 1, "b"), item(1, 0, "a"), end(1, 2), end(1, 2)] {
        driven.text(&message);
    }
    assert_eq!(driven.said(), [ack(1, 1, false), ack(1, 2, false), ack(1, 1, false), ack(1, 2, true), ack(1, 2, true)]);
    driven.text(&end(1, 3));
    assert_eq!(driven.rejected, [ErrorCode::InputConflict]);
}

#[test]
fn i2_an_item_that_becomes_durable_after_the_end_was_sent_is_not_terminal_by_that() {
    let mut connection = Driven::open(vec![input(1, STRING)]).connection;
    let stream = Uuid::from_u128(1);
    connection.text(item(1, 0, "a").as_bytes());
    connection.text(end(1, 1).as_bytes());
    let said = |actions: Vec<Action<'static>>| match actions.as_slice() {
        [Action::Send(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(said(connection.on(Event::Stored { stream, through: 1, streams: vec![] })), ack(1, 1, false));
    assert_eq!(said(connection.on(Event::EndStored { stream })), ack(1, 1, true));
}

#[test]
fn i8_what_crosses_the_cancel_of_an_input_by_the_server_is_dropped_without_a_word() {
    let mut driven = Driven::open(vec![input(1, STRING)]);
    driven.text(&item(1, 0, "a"));
    driven.said();
    let dropped = Event::InputDropped { stream: Uuid::from_u128(1), reason: ServerReason::ConsumerDrop };
    driven.on(dropped.clone());
    driven.on(dropped);
    let told = ServerMessage::Cancel { channel: 1, reason: ServerReason::ConsumerDrop }.encode();
    assert_eq!(driven.said(), [told], "once");
    for message in [item(1, 1, "b"), item(1, 2, "c"), end(1, 3)] {
        driven.text(&message);
    }
    assert_eq!((driven.said(), driven.rejected.as_slice()), (Vec::<String>::new(), [].as_slice()));
    driven.text(&item(1, 3, "d"));
    assert_eq!(driven.rejected, [ErrorCode::ProtocolError], "its own end closes the window");

    let mut skipping = Driven::open(vec![input(1, STRING)]);
    skipping.on(Event::InputDropped { stream: Uuid::from_u128(1), reason: ServerReason::ConsumerDrop });
    skipping.text(&item(1, 1, "b"));
    assert_eq!(skipping.rejected, [ErrorCode::InputGap]);
}

#[test]
fn i8_a_client_whose_end_was_not_accepted_in_time_is_told_of_the_cancel() {
    let stream = Uuid::from_u128(1);
    let dropped = Event::InputDropped { stream, reason: ServerReason::ConsumerDrop };
    let mut connection = Driven::open(vec![input(1, STRING)]).connection;
    connection.text(end(1, 0).as_bytes());
    let told = ServerMessage::Cancel { channel: 1, reason: ServerReason::ConsumerDrop }.encode();
    let said = connection.on(dropped.clone());
    assert!(matches!(said.as_slice(), [Action::Send(text)] if *text == told), "{said:?}");
    assert!(connection.on(dropped.clone()).is_empty(), "once");

    let mut connection = Driven::open(vec![input(1, STRING)]).connection;
    connection.text(end(1, 0).as_bytes());
    connection.on(Event::EndStored { stream });
    assert!(connection.on(dropped).is_empty(), "its end stands");
}

#[test]
fn q1_to_q4_cancels() {
    let mut driven = Driven::open(vec![input(1, STRING), output(2), input(3, STRING)]);
    driven.said();
    driven.text(&cancel(1));
    let confirmed = ServerMessage::Cancel { channel: 1, reason: ServerReason::Cancelled }.encode();
    assert_eq!(driven.said(), [confirmed], "the server confirms with the same reason");

    driven.on(Event::InputDropped { stream: Uuid::from_u128(3), reason: ServerReason::ConsumerDrop });
    driven.said();
    driven.text(&cancel(3));
    assert_eq!(driven.said(), Vec::<String>::new(), "it has crossed the server's on the wire");

    let stream = Uuid::from_u128(2);
    let actions = driven.connection.text(cancel(2).as_bytes()).len();
    assert_eq!(actions, 1, "the producer is told");
    let item = OutputItem::Value(Value::String("late".into()).canonical(), vec![]);
    driven.on(Event::Output { stream, sequence: 0, cursor: "c".into(), item });
    assert_eq!(driven.said(), Vec::<String>::new(), "items that were not sent are dropped");
    let outcome = OutputOutcome::Cancelled(ServerReason::Cancelled);
    driven.on(Event::OutputEnded { stream, sequence: 0, cursor: None, outcome });
    assert_eq!(driven.said().len(), 1, "and its end is sent");
    assert_eq!(driven.rejected, []);
}

#[test]
fn section_11_and_n3_outputs_carry_their_cursor_and_announce_streams_once() {
    let mut driven = Driven::open(vec![output(1)]);
    driven.said();
    for sequence in 0..2 {
        let value = Value::Stream(StreamRef::Stable("out2".into())).canonical();
        let item = OutputItem::Value(value, vec![output(2)]);
        driven.on(Event::Output { stream: Uuid::from_u128(1), sequence, cursor: format!("c{sequence}"), item });
    }
    for text in driven.said() {
        let Ok(ServerMessage::Item { mappings, .. }) = ServerMessage::decode(text.as_bytes()) else { panic!("{text}") };
        assert_eq!(mappings[0].channel, 2, "repeated identically, if at all (M2)");
    }
    let graph = r#"{"root":{"kind":"u8","value":{}}}"#.to_owned();
    let value = MethodValue { graph, value: r#"{"kind":"u8","value":7}"#.to_owned(), streams: vec![] };
    driven.on(Event::Returned(Some(value)));
    driven.on(Event::Finished(InvocationOutcome::Success));
    assert_eq!(driven.said().len(), 2);
    assert_eq!(driven.closed, Some(1000));
    driven.on(Event::Returned(None));
    assert_eq!(driven.said(), Vec::<String>::new(), "nothing follows (V6)");
}

#[test]
fn section_17_a_connection_that_another_takes_over_or_that_is_drained_ends_with_its_code() {
    let mut replaced = Driven::open(vec![]);
    replaced.said();
    replaced.on(Event::Replaced);
    assert_eq!((replaced.said(), replaced.closed), (vec![ServerMessage::Revoked.encode()], Some(1000)));
    let mut drained = Driven::open(vec![]);
    drained.on(Event::Draining);
    assert_eq!(drained.closed, Some(1001));
}

#[test]
fn a8_a_session_is_detached_before_the_connection_that_was_told_its_outcome_is_closed() {
    let mut connection = Driven::open(vec![]).connection;
    let actions = connection.on(Event::Finished(InvocationOutcome::Success));
    assert!(matches!(actions.as_slice(), [Action::Send(_), Action::Detach]), "{actions:?}");
    assert!(matches!(connection.on(Event::Detached).as_slice(), [Action::Close(1000)]));
}

#[test]
fn section_9_a_connection_that_cannot_go_on_is_detached_and_closes_with_its_code() {
    for (cut, code) in [(Cut::TooLarge, 1009), (Cut::Protocol, 1002), (Cut::Failed, 1011)] {
        let mut open = Driven::open(vec![]).connection;
        assert!(matches!(open.on(Event::Cut(cut)).as_slice(), [Action::Detach]), "{cut:?}");
        assert!(matches!(open.on(Event::Detached).as_slice(), [Action::Close(told)] if *told == code), "{cut:?}");

        let mut silent = Driven::new();
        silent.on(Event::Cut(cut));
        assert_eq!((silent.said().len(), silent.closed), (0, Some(code)), "without a word");

        let mut evaluating = Driven::new();
        evaluating.text(&start());
        evaluating.on(Event::Cut(cut));
        assert_eq!(evaluating.closed, None, "what it asked for may yet be accepted");
        evaluating.on(Event::Refused(Refusal::new(ErrorCode::NotFound, "no"), false));
        assert_eq!((evaluating.said().len(), evaluating.closed), (0, Some(code)));
    }
}

mod rules;
