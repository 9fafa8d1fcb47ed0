//! The client's side of a session, whatever its server says and however often they lose each other (protocol.md 20).

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use stream_session::ErrorCode;
use stream_session::binary::{BinaryItems, BinaryMessage};
use stream_session::client::{Action, Client, Delivery, Event, InputId, Item, OutputId, Start, WriteError};
use stream_session::message::{
    ClientMessage, ClientReason, InvocationOutcome, Mapping, MethodResult, Node, OutputOutcome, Rejection,
    ServerMessage, ServerReason, Way,
};
use stream_session::token::Role;
use stream_session::value::Value;
use uuid::Uuid;

use crate::fuzz_scripts;
use crate::script::{At, BYTE, Raw, STRING, at, channel, element, raw, seeds, uuid};

/// The inputs of the start, and the outputs of the result, by their types.
const TYPES: [&str; 2] = [BYTE, STRING];
/// Channels of inputs begin here, those of outputs there.
const INPUTS: u32 = 1;
const OUTPUTS: u32 = 3;

#[derive(Clone, Debug)]
enum Step {
    Happen(Event),
    /// The first message is accepted, or something is that is nearly like it.
    Accept(Flaw),
    Reject(ErrorCode, bool),
    Result(bool),
    Item(u32, At),
    Bytes(u32, At, u8),
    EndOutput(u32, At),
    Acknowledge(u32, At, bool),
    Cancel(u32),
    Revoke,
    Finish(InvocationOutcome),
    Raw(Raw),
    Write(usize, u8),
    End(usize),
    CancelInput(usize),
    CancelOutput(Index),
    Consume(Index),
    Wait(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    Attempt,
    Missing,
    Twice,
}

fn step() -> impl Strategy<Value = Step> {
    let flaw = prop_oneof![40 => Just(Flaw::None), 1 => select(&[Flaw::Attempt, Flaw::Missing, Flaw::Twice][..])];
    let code = || select(&[ErrorCode::ResourceExhausted, ErrorCode::InvalidAttachmentState, ErrorCode::NotFound][..]);
    let input = || 0..TYPES.len();
    let failure = InvocationOutcome::Failure { code: ErrorCode::InvocationFailed, message: "no".to_owned() };
    let happens = prop_oneof![
        32 => Just(Event::Connected),
        4 => Just(Event::Unreachable),
        1 => code().prop_map(Event::Refused),
        8 => Just(Event::Lost),
        4 => select(&[1000, 1001, 1002, 1009, 1011, 1006][..]).prop_map(Event::Closed),
    ];
    prop_oneof![
        24 => happens.prop_map(Step::Happen),
        32 => flaw.prop_map(Step::Accept),
        1 => (code(), any::<bool>()).prop_map(|(code, retryable)| Step::Reject(code, retryable)),
        4 => prop::bool::weighted(0.9).prop_map(Step::Result),
        32 => (channel(OUTPUTS + 1), at()).prop_map(|(channel, at)| Step::Item(channel, at)),
        32 => (channel(OUTPUTS), at(), 1_u8..5).prop_map(|(channel, at, count)| Step::Bytes(channel, at, count)),
        4 => (1_u32..6, at()).prop_map(|(channel, at)| Step::EndOutput(channel, at)),
        24 => (1_u32..6, at(), prop::bool::weighted(0.1)).prop_map(|(channel, at, end)| Step::Acknowledge(channel, at, end)),
        1 => (1_u32..6).prop_map(Step::Cancel),
        1 => Just(Step::Revoke),
        1 => prop_oneof![Just(InvocationOutcome::Success), Just(failure)].prop_map(Step::Finish),
        1 => raw().prop_map(Step::Raw),
        24 => (input(), 1_u8..5).prop_map(|(input, count)| Step::Write(input, count)),
        2 => input().prop_map(Step::End),
        1 => input().prop_map(Step::CancelInput),
        1 => any::<Index>().prop_map(Step::CancelOutput),
        16 => any::<Index>().prop_map(Step::Consume),
        1 => (1_u64..200).prop_map(Step::Wait),
    ]
}

/// An output as its application knows it.
struct Output {
    id: OutputId,
    token: String,
    /// The sequence after what was given.
    next: u64,
    taken: u64,
    ended: bool,
    cancelled: bool,
}

/// An input as the wire of one connection has it.
#[derive(Default)]
struct Sent {
    next: Option<u64>,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    None,
    Connected,
    /// The first message is on its way.
    Asked,
    Open,
}

/// A client, and what its application and its server know of it.
struct World {
    client: Client,
    now: Duration,
    attempts: u64,
    wire: Wire,
    is_over: bool,
    outputs: Vec<Output>,
    returned: bool,
    /// By channel, since the connection was accepted.
    sent: BTreeMap<u32, Sent>,
    /// How many items were written, acknowledged, and whether there is an end.
    written: [u64; 2],
    durable: [u64; 2],
    closed: [bool; 2],
}

fn start() -> Start {
    let record = |fields: &str| format!(r#"{{"kind":"record","value":{{"fields":[{fields}]}}}}"#);
    let references = [uuid(1), uuid(2)];
    let stream = |reference| format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{reference}"}}}}"#);
    let attempt = uuid(3);
    let text = format!(
        r#"{{"attemptId":"{attempt}","config":[],"idempotencyKey":"k","methodParameters":{},"selector":{{"agentType":"a","application":"b","constructorParameters":{},"environment":"c","method":"d"}},"type":"invocationStart","version":1}}"#,
        record(&references.map(stream).join(",")),
        record("")
    );
    let inputs = references.into_iter().zip(TYPES.map(element)).collect();
    Start { attempt, idempotency_key: "k".into(), text, inputs, in_doubt: false }
}

impl World {
    fn new() -> Self {
        let (client, actions) = Client::start(start());
        let mut world = Self {
            client,
            now: Duration::ZERO,
            attempts: 10,
            wire: Wire::None,
            is_over: false,
            outputs: Vec::new(),
            returned: false,
            sent: BTreeMap::new(),
            written: [0; 2],
            durable: [0; 2],
            closed: [false; 2],
        };
        world.perform(actions);
        world
    }

    fn take(&mut self, step: &Step, seeds: &[Vec<u8>]) {
        match *step {
            Step::Happen(event) => self.happen(event),
            Step::Accept(flaw) => self.accept(flaw),
            Step::Reject(code, retryable) => {
                let (attempt, message) = (None, "no".to_owned());
                self.say(&ServerMessage::Rejected(Rejection { attempt, code, message, retryable }));
            }
            Step::Result(complete) => self.result(complete),
            Step::Item(channel, at) => {
                let (sequence, value) = (self.output_sequence(channel, at), Value::String("a".into()));
                let cursor = format!("{channel}-{}", sequence.saturating_add(1));
                let (mappings, value) = (Vec::new(), Node::Value(&value));
                self.say(&ServerMessage::Item { channel, sequence, cursor, mappings, value });
            }
            Step::Bytes(channel, at, count) => {
                let sequence = self.output_sequence(channel, at);
                let cursor = Some(format!("{channel}-{}", sequence.saturating_add(count.into())));
                let payload = Bytes::from(vec![b'x'; count.into()]);
                let items = BinaryItems::Packed(payload.clone());
                let head = BinaryMessage { channel, sequence, items, cursor }.encode_head();
                self.say_bytes([&head[..], &payload].concat());
            }
            Step::EndOutput(channel, at) => {
                let sequence = self.output_sequence(channel, at);
                let cursor = Some(format!("{channel}-end"));
                self.say(&ServerMessage::End { channel, sequence, cursor, outcome: OutputOutcome::Ok });
            }
            Step::Acknowledge(channel, at, terminal) => self.acknowledge(channel, at, terminal),
            Step::Cancel(channel) => {
                self.say(&ServerMessage::Cancel { channel, reason: ServerReason::ConsumerDrop });
            }
            Step::Revoke => self.say(&ServerMessage::Revoked),
            Step::Finish(ref outcome) => self.say(&ServerMessage::Finished(outcome.clone())),
            Step::Raw(ref raw) => {
                let message = raw.message(seeds);
                if raw.is_text { self.say_text(&message) } else { self.say_bytes(message) }
            }
            Step::Wait(seconds) => self.now += Duration::from_secs(seconds),
            Step::Write(..) | Step::End(_) | Step::CancelInput(_) | Step::CancelOutput(_) | Step::Consume(_) => {
                self.apply(step);
            }
        }
    }

    /// What the application does.
    fn apply(&mut self, step: &Step) {
        let actions = match *step {
            Step::Write(input, count) => self.write(input, count),
            Step::End(input) => {
                self.closed[input] = true;
                self.client.end(self.input(input))
            }
            Step::CancelInput(input) => {
                self.closed[input] = true;
                self.client.cancel_input(self.input(input), ClientReason::SourceUnavailable)
            }
            Step::CancelOutput(index) if !self.outputs.is_empty() => {
                let output = index.get_mut(&mut self.outputs);
                output.cancelled = true;
                self.client.cancel_output(output.id, ClientReason::ConsumerDrop)
            }
            Step::Consume(index) if !self.outputs.is_empty() => {
                let output = index.get_mut(&mut self.outputs);
                output.taken = output.next;
                self.client.consumed(output.id, output.taken, output.ended);
                Vec::new()
            }
            _ => Vec::new(),
        };
        self.perform(actions);
    }

    fn input(&self, n: usize) -> InputId {
        self.client.input(n).expect("an input of the start")
    }

    fn write(&mut self, input: usize, count: u8) -> Vec<Action> {
        let (items, item) = match TYPES[input] {
            BYTE => (count.into(), Item::Binary(BinaryItems::Packed(vec![b'x'; count.into()].into()))),
            _ => (1, Item::Value(Value::String("a".into()))),
        };
        match self.client.write(self.input(input), item) {
            Ok(actions) => {
                assert!(!self.closed[input], "an input that is closed is written");
                self.written[input] += items;
                actions
            }
            Err(WriteError::Closed) => Vec::new(),
            Err(error) => panic!("a sound item is refused: {error}"),
        }
    }

    fn happen(&mut self, event: Event) {
        match (self.wire, event) {
            (Wire::None, Event::Connected) => self.wire = Wire::Connected,
            (Wire::None, Event::Unreachable | Event::Refused(_)) => {}
            (Wire::Asked | Wire::Open, Event::Lost | Event::Closed(_)) => self.wire = Wire::None,
            // A driver tells no such thing.
            _ => return,
        }
        let attempt = self.attempt();
        let actions = self.client.on(event, self.now, attempt);
        self.perform(actions);
    }

    fn attempt(&mut self) -> Uuid {
        self.attempts += 1;
        uuid(self.attempts)
    }

    fn say(&mut self, message: &ServerMessage<'_>) {
        self.say_text(message.encode().as_bytes());
    }

    fn say_text(&mut self, text: &[u8]) {
        if matches!(self.wire, Wire::Asked | Wire::Open) {
            let attempt = self.attempt();
            let actions = self.client.text(text, self.now, attempt);
            self.perform(actions);
        }
    }

    fn say_bytes(&mut self, message: Vec<u8>) {
        if matches!(self.wire, Wire::Asked | Wire::Open) {
            let actions = self.client.binary(&message.into());
            self.perform(actions);
        }
    }

    fn accept(&mut self, flaw: Flaw) {
        let Some(pending) = self.client.pending().map(str::to_owned) else { return };
        let message = ClientMessage::decode(pending.as_bytes()).expect("what is sent can be read");
        let (attempt, references) = match &message {
            ClientMessage::Start(start) => (start.attempt, references(&start.method_parameters.canonical())),
            ClientMessage::Attach(attach) => (attach.attempt, Vec::new()),
            other => panic!("a first message that does neither: {other:?}"),
        };
        let inputs = (0..TYPES.len()).map(|n| Mapping {
            channel: INPUTS + n as u32,
            stream_token: format!("in{n}"),
            way: Way::Input { provisional: references.get(n).copied(), high_water: self.durable[n], terminal: false },
        });
        let outputs = (0..TYPES.len()).map(mapped_output).filter(|mapping| self.named(&mapping.stream_token).is_some());
        let mut mappings: Vec<_> = inputs.chain(outputs).collect();
        match flaw {
            Flaw::Missing => drop(mappings.pop()),
            Flaw::Twice => mappings.push(Mapping { channel: 9, ..mappings[0].clone() }),
            Flaw::None | Flaw::Attempt => {}
        }
        let attempt = if flaw == Flaw::Attempt { uuid(4) } else { attempt };
        let (idempotency_key, session_token) = ("k".to_owned(), "t".to_owned());
        let was_asked = self.wire == Wire::Asked;
        self.say(&ServerMessage::Accepted { attempt, idempotency_key, mappings, session_token });
        assert!(!was_asked || self.is_over == (flaw != Flaw::None), "accepted with {flaw:?}");
    }

    fn result(&mut self, complete: bool) {
        let stream = |n: usize| format!(r#"{{"kind":"stream","value":{{"streamToken":"out{n}"}}}}"#);
        let field = |(n, of): (usize, &&str)| {
            format!(r#"{{"body":{{"kind":"stream","value":{{"inner":{of}}}}},"name":"f{n}"}}"#)
        };
        let fields: Vec<_> = TYPES.iter().enumerate().map(field).collect();
        let graph = format!(r#"{{"root":{{"kind":"record","value":{{"fields":[{}]}}}}}}"#, fields.join(","));
        let value = format!(r#"{{"kind":"record","value":{{"fields":[{},{}]}}}}"#, stream(0), stream(1));
        let mappings = (0..TYPES.len()).filter(|n| complete || *n == 0).map(mapped_output).collect();
        let result = MethodResult::Value { graph: Node::Text(&graph), value: Node::Text(&value) };
        self.say(&ServerMessage::Result { mappings, result });
    }

    fn output_sequence(&self, channel: u32, at: At) -> u64 {
        at.after(self.output_at(channel).map_or(0, |output| output.next))
    }

    fn output_at(&self, channel: u32) -> Option<&Output> {
        self.named(&mapped_output(channel.checked_sub(OUTPUTS)? as usize).stream_token)
    }

    fn named(&self, token: &str) -> Option<&Output> {
        self.outputs.iter().find(|output| output.token == token)
    }

    fn output(&mut self, id: OutputId) -> &mut Output {
        self.outputs.iter_mut().find(|output| output.id == id).expect("an output that is known")
    }

    fn acknowledge(&mut self, channel: u32, at: At, terminal: bool) {
        if !self.sent.contains_key(&channel) {
            return;
        }
        let input = (channel - INPUTS) as usize;
        let sent = self.written[input];
        let sequence = at.after(sent);
        let open = self.wire == Wire::Open;
        self.say(&ServerMessage::Ack { channel, sequence, mappings: Vec::new(), terminal });
        if !open {
            return;
        }
        assert!(sequence <= sent || self.is_over, "what was not sent is acknowledged");
        if !self.is_over {
            self.durable[input] = self.durable[input].max(sequence);
            self.closed[input] |= terminal;
        }
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Disconnect => self.wire = Wire::None,
                _ if self.is_over => panic!("after its end: {action:?}"),
                Action::Connect(pause) => {
                    assert!(pause <= Duration::from_secs(3));
                    self.wire = Wire::None;
                }
                Action::Send(text) => self.heard(&text),
                Action::SendBinary(head, payload) => {
                    let message = Bytes::from([&head[..], &payload].concat());
                    let message = BinaryMessage::decode(&message, Role::Input).expect("what is sent can be read");
                    self.heard_items(message.channel, message.sequence, message.items.count());
                }
                Action::Deliver(delivery) => self.deliver(delivery),
            }
        }
        assert_eq!(self.client.is_over(), self.is_over);
        self.check_cursors();
    }

    /// The server hears a text message.
    fn heard(&mut self, text: &str) {
        match ClientMessage::decode(text.as_bytes()).expect("what is sent can be read") {
            ClientMessage::Start(_) | ClientMessage::Attach(_) => {
                assert_eq!(self.wire, Wire::Connected, "it starts or attaches once on a connection");
                self.wire = Wire::Asked;
            }
            ClientMessage::Item { channel, sequence, .. } => self.heard_items(channel, sequence, 1),
            ClientMessage::End { channel, sequence } => {
                let sent = self.open(channel);
                assert!(!std::mem::replace(&mut sent.is_closed, true), "it ends once on a connection");
                assert!(sent.next.is_none_or(|next| next == sequence), "an end of another length");
            }
            ClientMessage::Cancel { channel, .. } if channel >= OUTPUTS => {
                let output = self.output_at(channel).expect("an output");
                assert!(output.cancelled && !output.ended, "nobody has cancelled it");
            }
            ClientMessage::Cancel { channel, .. } => {
                assert!(!std::mem::replace(&mut self.open(channel).is_closed, true), "it ends once on a connection");
            }
        }
    }

    fn heard_items(&mut self, channel: u32, sequence: u64, count: u64) {
        let durable = self.durable[(channel - INPUTS) as usize];
        let sent = self.open(channel);
        assert!(!sent.is_closed, "an item follows the end");
        // What was made up of vectors may have acknowledged more.
        assert!(sent.next.map_or(sequence >= durable, |next| sequence == next), "items are sent in their order");
        sent.next = Some(sequence + count);
    }

    fn open(&mut self, channel: u32) -> &mut Sent {
        assert_eq!(self.wire, Wire::Open, "said to whom has not accepted");
        self.sent.get_mut(&channel).expect("an input of this connection")
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Accepted { .. } => {
                assert_eq!(self.wire, Wire::Asked, "accepted, and not asked");
                self.wire = Wire::Open;
                self.sent = (INPUTS..OUTPUTS).map(|channel| (channel, Sent::default())).collect();
            }
            Delivery::Returned(_) => assert!(!std::mem::replace(&mut self.returned, true), "it returns once"),
            Delivery::NewOutput { output, token } => {
                assert!(self.named(&token).is_none(), "an output is new once");
                self.outputs.push(Output { id: output, token, next: 0, taken: 0, ended: false, cancelled: false });
            }
            Delivery::Item { output, sequence, item } => {
                let output = self.output(output);
                assert!(!output.ended && sequence == output.next, "an item is missing, or comes again");
                output.next += match item {
                    Item::Value(_) => 1,
                    Item::Binary(items) => items.count(),
                };
            }
            Delivery::Ended { output, .. } => {
                let output = self.output(output);
                assert!(!std::mem::replace(&mut output.ended, true), "an output ends once");
            }
            Delivery::InputCancelled { input, .. } => {
                let position = self.client.inputs().position(|of| of == input).expect("an input of the start");
                self.closed[position] = true;
            }
            Delivery::Finished(outcome) => {
                let complete = self.returned && self.outputs.iter().all(|output| output.ended);
                assert!(outcome != InvocationOutcome::Success || complete, "a success that is not complete");
                self.is_over = true;
            }
            Delivery::Revoked | Delivery::Failed(_) => self.is_over = true,
        }
    }

    /// A cursor stands for what the application has taken, and nothing that it has not (K7).
    fn check_cursors(&self) {
        for (token, cursor) in self.client.cursors() {
            let Some(output) = self.named(token) else { continue };
            let Some((_, position)) = cursor.rsplit_once('-') else { continue };
            match position.parse::<u64>() {
                Ok(position) => assert!(position <= output.taken, "a cursor beyond what was taken"),
                Err(_) => assert!(output.ended, "the cursor of an end that has not come"),
            }
        }
    }
}

fn mapped_output(n: usize) -> Mapping {
    Mapping { channel: OUTPUTS + n as u32, stream_token: format!("out{n}"), way: Way::Output }
}

/// The provisional references in a value, in their order.
fn references(value: &str) -> Vec<Uuid> {
    let after = value.split(r#""provisionalRef":""#).skip(1);
    after.map(|rest| rest[..36].parse().expect("a reference is a UUID")).collect()
}

#[test]
fn a_client_does_nothing_that_its_state_forbids_whatever_its_server_says() {
    let seeds = seeds();
    fuzz_scripts(step(), |script| {
        let mut world = World::new();
        // As it mostly begins.
        world.happen(Event::Connected);
        world.accept(Flaw::None);
        world.result(true);
        script.iter().for_each(|step| world.take(step, &seeds));
    });
}
