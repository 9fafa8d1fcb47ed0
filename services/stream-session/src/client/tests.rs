//! A client against the server's own state machine, over connections that break anywhere.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;

mod first;
mod nested;
mod rules;

use super::*;
use crate::binary::BinaryItems;
use crate::graph::Graph;
use crate::json::Json;
use crate::message::Attach;
use crate::server::{
    self, Acceptance, Connection, InputItem, InputTerminal, MethodValue, OutputItem, Stream, StreamWay,
};
use crate::value::StreamRef;

const REFERENCE: &str = "0dff1c71-f12f-4bb1-996c-23d693bdc825";

fn uuid(n: u128) -> Uuid {
    // Version 4 and its variant, whatever the rest is.
    uuid::Builder::from_random_bytes(n.to_be_bytes()).into_uuid()
}

fn graph(of: &str) -> Arc<Graph> {
    Arc::new(Graph::read(&Json::parse(format!(r#"{{"root":{of}}}"#).as_bytes()).unwrap()).unwrap())
}

fn element(of: &str) -> Element {
    let graph = graph(of);
    Element::new(Arc::clone(&graph), graph.root().clone())
}

const BYTE: &str = r#"{"kind":"u8","value":{}}"#;
const STRING: &str = r#"{"kind":"string","value":{}}"#;

fn start() -> Start {
    let record = |fields: &str| format!(r#"{{"kind":"record","value":{{"fields":[{fields}]}}}}"#);
    let stream = format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{REFERENCE}"}}}}"#);
    let attempt = uuid(1);
    let text = format!(
        r#"{{"attemptId":"{attempt}","config":[],"idempotencyKey":"k","methodParameters":{},"selector":{{"agentType":"a","application":"b","constructorParameters":{},"environment":"c","method":"d"}},"type":"invocationStart","version":1}}"#,
        record(&stream),
        record("")
    );
    let inputs = vec![(REFERENCE.parse().unwrap(), element(BYTE))];
    Start { attempt, idempotency_key: "k".into(), text, inputs, in_doubt: false }
}

/// A session as its journal has it: it reads bytes, and answers with a stream of strings, one for each batch.
#[derive(Default)]
struct Journal {
    attempts: Vec<Uuid>,
    /// Batches by the sequence of their first byte.
    input: BTreeMap<u64, Vec<u8>>,
    ended: bool,
    generation: u32,
}

impl Journal {
    fn high_water(&self) -> u64 {
        self.input.last_key_value().map_or(0, |(sequence, batch)| sequence + batch.len() as u64)
    }

    fn streams(&self) -> Vec<Stream> {
        let terminal = self.ended.then_some(InputTerminal::Ended);
        let (element, high_water) = (Box::new(element(BYTE)), self.high_water());
        let way = StreamWay::Input { element, provisional: None, high_water, terminal };
        let input = Stream { id: uuid(10), token: "in".into(), way };
        let output = Stream { id: uuid(20), token: "out".into(), way: StreamWay::Output };
        if self.ended { vec![input, output] } else { vec![input] }
    }

    /// What the agent has produced: nothing before its input has ended.
    fn output(&self) -> Vec<String> {
        let batches = self.input.values().map(|batch| format!("{batch:?}"));
        if self.ended { batches.collect() } else { Vec::new() }
    }
}

/// Both ends, and what is on the wire between them.
struct World {
    client: Client,
    server: Option<Connection>,
    to_server: VecDeque<Frame>,
    to_client: VecDeque<Frame>,
    journal: Journal,
    /// What the application was given.
    items: Vec<String>,
    last: Option<Delivery>,
    returned: usize,
    ids: u128,
}

#[derive(Clone, Debug)]
enum Frame {
    Text(String),
    Binary(Vec<u8>),
}

impl World {
    fn new() -> Self {
        let (client, actions) = Client::start(start());
        let mut world = Self {
            client,
            server: None,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            journal: Journal::default(),
            items: Vec::new(),
            last: None,
            returned: 0,
            ids: 100,
        };
        world.perform(actions);
        world
    }

    fn fresh(&mut self) -> Uuid {
        self.ids += 1;
        uuid(self.ids)
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Connect(_) => {
                    self.server = Some(Connection::new(7));
                    self.to_server.clear();
                    self.to_client.clear();
                    let attempt = self.fresh();
                    let actions = self.client.on(Event::Connected, Duration::ZERO, attempt);
                    self.perform(actions);
                }
                Action::Send(text) => self.to_server.push_back(Frame::Text(text)),
                Action::SendBinary(head, payload) => {
                    self.to_server.push_back(Frame::Binary([&head, &payload[..]].concat()));
                }
                Action::Disconnect => self.server = None,
                Action::Deliver(delivery) => self.deliver(delivery),
            }
        }
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Item { output, sequence, item: Item::Value(Value::String(text)) } => {
                self.items.push(text);
                self.client.consumed(output, sequence + 1, false);
            }
            Delivery::Ended { output, .. } => self.client.consumed(output, 0, true),
            Delivery::Returned(_) => self.returned += 1,
            Delivery::Accepted { .. } | Delivery::NewOutput { .. } => {}
            last => self.last = Some(last),
        }
    }

    /// The connection breaks; what was on the wire is gone.
    fn cut(&mut self) {
        if self.server.take().is_some() {
            let attempt = self.fresh();
            let actions = self.client.on(Event::Lost, Duration::ZERO, attempt);
            self.perform(actions);
        }
    }

    /// One frame arrives at one end. `false` if there is none.
    fn step(&mut self, at_server: bool) -> bool {
        if at_server { self.serve() } else { self.receive() }
    }

    fn receive(&mut self) -> bool {
        let Some(frame) = self.to_client.pop_front() else { return false };
        let attempt = self.fresh();
        let actions = match frame {
            Frame::Text(text) => self.client.text(text.as_bytes(), Duration::ZERO, attempt),
            Frame::Binary(message) => self.client.binary(&message.into()),
        };
        self.perform(actions);
        true
    }

    fn serve(&mut self) -> bool {
        let Some(frame) = self.to_server.pop_front() else { return false };
        let Some(mut server) = self.server.take() else { return false };
        let owned;
        let actions = match frame {
            Frame::Text(text) => {
                owned = text;
                server.text(owned.as_bytes())
            }
            Frame::Binary(message) => server.binary(&message.into()),
        };
        let mut events = VecDeque::new();
        self.served(actions, &mut events);
        while let Some(event) = events.pop_front() {
            let actions = server.on(event);
            self.served(actions, &mut events);
        }
        self.server = Some(server);
        true
    }

    fn served(&mut self, actions: Vec<server::Action<'_>>, events: &mut VecDeque<server::Event>) {
        for action in actions {
            match action {
                server::Action::Send(text) => self.to_client.push_back(Frame::Text(text)),
                server::Action::SendBinary(head, payload) => {
                    self.to_client.push_back(Frame::Binary([&head, &payload[..]].concat()));
                }
                server::Action::Start(start) => self.start(start.attempt, events),
                server::Action::Attach(attach) => self.attach(&attach, events),
                server::Action::Store { stream, sequence, item: InputItem::Binary(BinaryItems::Packed(bytes)) } => {
                    let through = sequence + bytes.len() as u64;
                    self.journal.input.insert(sequence, bytes.to_vec());
                    events.push_back(server::Event::Stored { stream, through, streams: vec![] });
                }
                server::Action::End { stream, .. } => {
                    let first = !std::mem::replace(&mut self.journal.ended, true);
                    events.push_back(server::Event::EndStored { stream });
                    if first {
                        self.run(None, events);
                    }
                }
                server::Action::Compare { stream, sequence, item: InputItem::Binary(BinaryItems::Packed(bytes)) } => {
                    assert_eq!(self.journal.input.get(&sequence).map(Vec::as_slice), Some(&bytes[..]));
                    let through = sequence + bytes.len() as u64;
                    events.push_back(server::Event::Stored { stream, through, streams: vec![] });
                }
                server::Action::Detach => events.push_back(server::Event::Detached),
                server::Action::Close(code) => assert_eq!(code, 1000),
                other => panic!("{other:?}"),
            }
        }
    }

    fn start(&mut self, attempt: Uuid, events: &mut VecDeque<server::Event>) {
        if self.journal.attempts.is_empty() {
            self.journal.attempts.push(attempt);
            self.journal.generation = 1;
        }
        assert_eq!(self.journal.attempts[0], attempt, "an exact retry");
        let mut streams = self.journal.streams();
        if let StreamWay::Input { provisional, .. } = &mut streams[0].way {
            *provisional = Some(REFERENCE.parse().unwrap());
        }
        self.accept(attempt, streams, events);
        if self.journal.attempts.len() > 1 {
            events.push_back(server::Event::Replaced);
        }
    }

    fn attach(&mut self, attach: &Attach, events: &mut VecDeque<server::Event>) {
        if !self.journal.attempts.contains(&attach.attempt) {
            assert_eq!(attach.session_token, format!("t{}", self.journal.generation), "the latest token");
            self.journal.attempts.push(attach.attempt);
            self.journal.generation += 1;
        }
        self.accept(attach.attempt, self.journal.streams(), events);
        if self.journal.attempts.last() == Some(&attach.attempt) {
            self.run(attach.output_cursors.first().map(String::as_str), events);
        } else {
            events.push_back(server::Event::Replaced);
        }
    }

    fn accept(&mut self, attempt: Uuid, streams: Vec<Stream>, events: &mut VecDeque<server::Event>) {
        let session_token = format!("t{}", self.journal.generation);
        let idempotency_key = "k".to_owned();
        events.push_back(server::Event::Accepted(Acceptance { attempt, idempotency_key, session_token, streams }));
    }

    /// Replays what the agent has produced after a cursor.
    fn run(&self, after: Option<&str>, events: &mut VecDeque<server::Event>) {
        if !self.journal.ended {
            return;
        }
        let graph = format!(r#"{{"root":{{"kind":"stream","value":{{"inner":{STRING}}}}}}}"#);
        let value = Value::Stream(StreamRef::Stable("out".into())).canonical();
        let streams = self.journal.streams().split_off(1);
        events.push_back(server::Event::Returned(Some(MethodValue { graph, value, streams })));
        let output = self.journal.output();
        let from: usize = after.map_or(0, |cursor| cursor.strip_prefix('c').unwrap().parse().unwrap());
        for (sequence, text) in output.iter().enumerate().skip(from) {
            let item = OutputItem::Value(Value::String(text.clone()).canonical(), vec![]);
            let (stream, sequence, cursor) = (uuid(20), sequence as u64, format!("c{}", sequence + 1));
            events.push_back(server::Event::Output { stream, sequence, cursor, item });
        }
        let end = output.len() + 1;
        if from < end {
            events.push_back(server::Event::OutputEnded {
                stream: uuid(20),
                sequence: output.len() as u64,
                cursor: Some(format!("c{end}")),
                outcome: OutputOutcome::Ok,
            });
        }
        events.push_back(server::Event::Finished(InvocationOutcome::Success));
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u8),
    AtServer,
    AtClient,
    Cut,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_u8..5).prop_map(Step::Write),
        8 => Just(Step::AtServer),
        8 => Just(Step::AtClient),
        2 => Just(Step::Cut),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #[test]
    fn nothing_is_lost_or_doubled_wherever_connections_break(steps in steps(), ends_at in 0_usize..120) {
        let mut world = World::new();
        let input = world.client.input(0).unwrap();
        let mut written = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Write(count) if at < ends_at => {
                    let bytes: Vec<u8> = (0..*count).map(|n| n.wrapping_add(written.len() as u8)).collect();
                    written.extend_from_slice(&bytes);
                    let actions = world.client.write(input, Item::Binary(BinaryItems::Packed(bytes.into()))).unwrap();
                    world.perform(actions);
                }
                Step::Write(_) => {}
                Step::AtServer => drop(world.step(true)),
                Step::AtClient => drop(world.step(false)),
                Step::Cut => world.cut(),
            }
            if at == ends_at {
                let actions = world.client.end(input);
                world.perform(actions);
            }
        }
        let actions = world.client.end(input);
        world.perform(actions);
        for _ in 0..10_000 {
            if world.client.is_over() {
                break;
            }
            if !world.step(true) && !world.step(false) {
                world.cut();
            }
        }
        prop_assert_eq!(&world.last, &Some(Delivery::Finished(InvocationOutcome::Success)));
        prop_assert_eq!(world.journal.input.values().flatten().copied().collect::<Vec<_>>(), written);
        prop_assert_eq!(&world.items, &world.journal.output());
        prop_assert_eq!(world.returned, 1);
    }
}

/// A client that was accepted, with what was sent to it.
fn accepted() -> (Client, InputId) {
    let (mut client, _) = Client::start(start());
    client.on(Event::Connected, Duration::ZERO, uuid(2));
    let mapping = crate::message::Mapping {
        channel: 1,
        stream_token: "in".into(),
        way: crate::message::Way::Input {
            provisional: Some(REFERENCE.parse().unwrap()),
            high_water: 0,
            terminal: false,
        },
    };
    let accepted = ServerMessage::Accepted {
        attempt: uuid(1),
        idempotency_key: "k".into(),
        mappings: vec![mapping],
        session_token: "t1".into(),
    };
    let actions = client.text(accepted.encode().as_bytes(), Duration::ZERO, uuid(3));
    assert!(matches!(actions.as_slice(), [Action::Deliver(Delivery::Accepted { .. })]), "{actions:?}");
    let input = client.input(0).unwrap();
    (client, input)
}

fn bytes(count: usize) -> Item {
    Item::Binary(BinaryItems::Packed(vec![0; count].into()))
}

#[test]
fn k4_a_writer_waits_once_16_mib_are_not_acknowledged() {
    let (mut client, input) = accepted();
    for _ in 0..8 {
        client.write(input, bytes(1 << 20)).unwrap();
    }
    assert_eq!(client.write(input, bytes(1)), Err(WriteError::Full));
    let ack = ServerMessage::Ack { channel: 1, sequence: 1 << 20, mappings: vec![], terminal: false };
    client.text(ack.encode().as_bytes(), Duration::ZERO, uuid(4));
    assert!(client.write(input, bytes(1)).is_ok());
}

#[test]
fn k4_an_input_that_is_not_read_leaves_room_for_another() {
    let (mut client, _) = Client::start(Start { inputs: [1, 2].map(|n| (uuid(n), element(BYTE))).into(), ..start() });
    let [unread, read] = [0, 1].map(|index| client.input(index).unwrap());
    let mut batches = 0;
    while client.write(unread, bytes(1 << 20)).is_ok() {
        batches += 1;
    }
    assert_eq!(batches, 4, "as much as it leaves");
    assert!(client.write(read, bytes(1 << 20)).is_ok());
    client.end(read);
    assert!(client.write(unread, bytes(1 << 20)).is_ok(), "nobody else needs any");
}

#[test]
fn k14_values_are_validated_before_they_are_sent() {
    let (mut client, input) = accepted();
    let text = Item::Value(Value::String("no byte".into()));
    assert!(matches!(client.write(input, text), Err(WriteError::Invalid(_))));
}

#[test]
fn k3_what_a_server_must_not_say_ends_the_session_here() {
    let refused = |message: ServerMessage<'_>| {
        let (mut client, _) = accepted();
        let actions = client.text(message.encode().as_bytes(), Duration::ZERO, uuid(5));
        match actions.as_slice() {
            [Action::Deliver(Delivery::Failed(refusal)), Action::Disconnect] => refusal.code,
            other => panic!("{other:?}"),
        }
    };
    let ack = |channel, sequence| ServerMessage::Ack { channel, sequence, mappings: vec![], terminal: false };
    assert_eq!(refused(ack(1, 1)), ErrorCode::ProtocolError, "more than was sent");
    assert_eq!(refused(ack(9, 0)), ErrorCode::ProtocolError, "a channel that is not bound");
    assert_eq!(refused(ServerMessage::Finished(InvocationOutcome::Success)), ErrorCode::ProtocolError);
}

#[test]
fn k12_a_session_that_somebody_else_has_is_over_here() {
    let (mut client, _) = accepted();
    let actions = client.text(ServerMessage::Revoked.encode().as_bytes(), Duration::ZERO, uuid(5));
    assert_eq!(actions, [Action::Deliver(Delivery::Revoked), Action::Disconnect]);
}

#[test]
fn k1_a_start_that_may_have_arrived_is_sent_again_as_it_was() {
    let (mut client, actions) = Client::start(start());
    assert_eq!(actions, [Action::Connect(Duration::ZERO)]);
    let sent = client.on(Event::Connected, Duration::ZERO, uuid(2));
    assert!(matches!(client.on(Event::Lost, Duration::ZERO, uuid(3)).as_slice(), [Action::Connect(_)]));
    assert_eq!(client.on(Event::Connected, Duration::ZERO, uuid(4)), sent);
    let refused = client.on(Event::Refused(ErrorCode::AuthenticationFailed), Duration::ZERO, uuid(5));
    assert!(matches!(refused.as_slice(), [Action::Connect(_)]), "not what a connection under way is told");
}
