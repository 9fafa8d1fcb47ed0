//! The server's side of a connection, whatever its client says and whatever happens meanwhile (protocol.md 8 to 16).

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::select;
use stream_session::binary::{BinaryItems, BinaryMessage};
use stream_session::message::{
    ClientMessage, ClientReason, InvocationOutcome, Node, OutputOutcome, ServerMessage, ServerReason,
};
use stream_session::server::{Acceptance, Action, Connection, Cut, Event, InputItem, OutputItem, Stream, StreamWay};
use stream_session::token::Role;
use stream_session::value::{StreamRef, Value};
use stream_session::{ErrorCode, Refusal};
use uuid::Uuid;

use crate::fuzz_scripts;
use crate::script::{At, BYTE, Raw, STRING, at, channel, element, raw, seeds, uuid};

const ATTEMPT: Uuid = Uuid::from_u128(0xca7e_5a82_2064_4c18_8359_8061_45c1_562f);
const STREAM: &str = r#"{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}"#;
/// The channels of the streams that a session begins with, the inputs first.
const BYTES: u32 = 1;
const STRINGS: u32 = 2;
const STREAMS: u32 = 3;
const OUTPUTS: [u32; 2] = [4, 5];

#[derive(Clone, Debug)]
enum Step {
    Item(u32, At),
    Bytes(u32, At, u8),
    End(u32, At),
    Cancel(u32),
    Raw(Raw),
    /// What the driver was asked first has been done, or is refused.
    Answer(bool),
    Drop(u32),
    Produce(u32, bool),
    EndOutput(u32),
    Happen(Event),
}

fn step() -> impl Strategy<Value = Step> {
    let output = || select(&OUTPUTS[..]);
    let happens = prop_oneof![
        Just(Event::Returned(None)),
        Just(Event::Finished(InvocationOutcome::Success)),
        Just(Event::Replaced),
        Just(Event::Draining),
        Just(Event::Lost),
        select(&[Cut::TooLarge, Cut::Protocol, Cut::Failed][..]).prop_map(Event::Cut),
    ];
    prop_oneof![
        48 => (prop_oneof![channel(STRINGS), channel(STREAMS)], at()).prop_map(|(channel, at)| Step::Item(channel, at)),
        32 => (channel(BYTES), at(), 1_u8..5).prop_map(|(channel, at, count)| Step::Bytes(channel, at, count)),
        4 => (1_u32..9, at()).prop_map(|(channel, at)| Step::End(channel, at)),
        4 => (1_u32..9).prop_map(Step::Cancel),
        1 => raw().prop_map(Step::Raw),
        96 => prop::bool::weighted(0.995).prop_map(Step::Answer),
        4 => (1_u32..9).prop_map(Step::Drop),
        24 => (output(), any::<bool>()).prop_map(|(channel, nests)| Step::Produce(channel, nests)),
        3 => output().prop_map(Step::EndOutput),
        2 => happens.prop_map(Step::Happen),
    ]
}

/// What the driver was asked.
enum Asked {
    Evaluate,
    Item(Uuid, u64, InputItem),
    End(Uuid),
    Cancel(Uuid, ClientReason),
    Detach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    First,
    Evaluating,
    Open,
    Detaching,
    Closed,
}

#[derive(Default)]
struct Input {
    /// The sequence after the last item that was to be stored, and after the last that was.
    asked: u64,
    durable: u64,
    /// How many items there were when its end, or a cancel, was to be stored.
    ended: Option<u64>,
    cancelled: bool,
    is_closed: bool,
    dropped: bool,
}

#[derive(Default)]
struct Output {
    next: u64,
    cancelled: bool,
    ended: bool,
}

/// A connection, and what its driver and its client know of it.
struct World {
    connection: Connection,
    phase: Phase,
    /// A last word was said: nothing may follow.
    is_silent: bool,
    asked: VecDeque<Asked>,
    inputs: BTreeMap<Uuid, Input>,
    outputs: BTreeMap<Uuid, Output>,
    /// As the client was told, by their tokens.
    channels: BTreeMap<u32, Uuid>,
    /// By the item that introduced them.
    nested: BTreeMap<(Uuid, u64), Vec<Stream>>,
}

fn stream(id: u128, way: StreamWay) -> Stream {
    let id = Uuid::from_u128(id);
    Stream { id, token: id.to_string(), way }
}

fn input(id: u128, of: &str, provisional: Option<Uuid>) -> Stream {
    stream(id, StreamWay::Input { element: Box::new(element(of)), provisional, high_water: 0, terminal: None })
}

impl World {
    fn new(start: &[u8]) -> Self {
        let mut world = Self {
            connection: Connection::new(1),
            phase: Phase::First,
            is_silent: false,
            asked: VecDeque::new(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            channels: BTreeMap::new(),
            nested: BTreeMap::new(),
        };
        world.text(start);
        world
    }

    fn take(&mut self, step: &Step, seeds: &[Vec<u8>]) {
        match *step {
            Step::Item(channel, at) => {
                let value = match channel {
                    STREAMS => Value::Stream(StreamRef::Provisional(self.reference(at))),
                    _ => Value::String("a".into()),
                };
                let sequence = self.sequence(channel, at);
                let sound = self.takes(channel, at) && channel != BYTES;
                self.text(ClientMessage::Item { channel, sequence, value: Node::Value(&value) }.encode().as_bytes());
                assert!(!sound || self.asked_last(channel, sequence), "a sound item is not stored");
            }
            Step::Bytes(channel, at, count) => {
                let sequence = self.sequence(channel, at);
                let sound = self.takes(channel, at) && channel == BYTES;
                let payload = Bytes::from(vec![b'x'; count.into()]);
                let items = BinaryItems::Packed(payload.clone());
                let head = BinaryMessage { channel, sequence, items, cursor: None }.encode_head();
                self.binary([&head[..], &payload].concat());
                assert!(!sound || self.asked_last(channel, sequence), "a sound batch is not stored");
            }
            Step::End(channel, at) => {
                let sequence = self.sequence(channel, at);
                self.text(ClientMessage::End { channel, sequence }.encode().as_bytes());
            }
            Step::Cancel(channel) => {
                self.text(ClientMessage::Cancel { channel, reason: ClientReason::Cancelled }.encode().as_bytes());
            }
            Step::Raw(ref raw) => {
                let message = raw.message(seeds);
                if raw.is_text { self.text(&message) } else { self.binary(message) }
            }
            Step::Answer(well) => self.answer(well),
            Step::Drop(channel) => self.drop_input(channel),
            Step::Produce(channel, nests) => self.produce(channel, nests),
            Step::EndOutput(channel) => {
                let Some(&stream) = self.channels.get(&channel) else { return };
                let Some(output) = self.outputs.get(&stream) else { return };
                let (sequence, outcome) = (output.next, OutputOutcome::Ok);
                self.on(Event::OutputEnded { stream, sequence, cursor: Some("end".into()), outcome });
            }
            Step::Happen(ref event) => self.on(event.clone()),
        }
    }

    fn input(&self, channel: u32) -> Option<&Input> {
        self.inputs.get(self.channels.get(&channel)?)
    }

    fn sequence(&self, channel: u32, at: At) -> u64 {
        at.after(self.input(channel).map_or(0, |input| input.asked))
    }

    /// What the item at a place calls the stream that it introduces: the same if it is sent again.
    fn reference(&self, at: At) -> Uuid {
        uuid(self.sequence(STREAMS, at))
    }

    /// Whether an item there is the next one of an input that goes on.
    fn takes(&self, channel: u32, at: At) -> bool {
        let goes_on = self.input(channel).is_some_and(|input| !input.is_closed && !input.dropped);
        self.phase == Phase::Open && goes_on && matches!(at, At::Next)
    }

    fn asked_last(&self, channel: u32, sequence: u64) -> bool {
        let stream = self.channels.get(&channel);
        matches!(self.asked.back(), Some(Asked::Item(of, at, _)) if Some(of) == stream && *at == sequence)
    }

    fn text(&mut self, text: &[u8]) {
        let actions = self.connection.text(text);
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

    fn drop_input(&mut self, channel: u32) {
        let Some(&stream) = self.channels.get(&channel) else { return };
        let Some(input) = self.inputs.get_mut(&stream).filter(|input| !input.is_closed) else { return };
        input.dropped = true;
        self.on(Event::InputDropped { stream, reason: ServerReason::ConsumerDrop });
    }

    fn produce(&mut self, channel: u32, nests: bool) {
        let Some(&id) = self.channels.get(&channel) else { return };
        let Some(output) = self.outputs.get_mut(&id) else { return };
        let (sequence, cursor) = (output.next, "cursor".to_owned());
        output.next += 1;
        let nested = stream(1_000 + u128::from(channel), StreamWay::Output);
        let item = match nests {
            true => OutputItem::Value(Value::Stream(StreamRef::Stable(nested.token.clone())).canonical(), vec![nested]),
            false => OutputItem::Binary(BinaryItems::Packed(Bytes::from_static(b"x"))),
        };
        self.on(Event::Output { stream: id, sequence, cursor, item });
    }

    /// The driver answers what it was asked first.
    fn answer(&mut self, well: bool) {
        let Some(asked) = self.asked.pop_front() else { return };
        let refusal = Refusal::new(ErrorCode::InputConflict, "no");
        match asked {
            Asked::Evaluate if well => self.on(Event::Accepted(acceptance())),
            Asked::Evaluate => self.on(Event::Refused(refusal, true)),
            Asked::Detach => self.on(Event::Detached),
            _ if !well => self.on(Event::Contradiction(refusal)),
            Asked::Item(stream, sequence, item) => self.store(stream, sequence, item),
            Asked::End(stream) => self.on(Event::EndStored { stream }),
            Asked::Cancel(stream, reason) => self.on(Event::CancelStored { stream, reason }),
        }
    }

    fn store(&mut self, id: Uuid, sequence: u64, item: InputItem) {
        let through = sequence + count(&item);
        let Some(input_) = self.inputs.get_mut(&id) else { panic!("an item of no input") };
        if input_.dropped && through > input_.durable {
            // Dropped without a word (I8).
            return;
        }
        input_.durable = input_.durable.max(through);
        let number = self.nested.len() as u128;
        let introduced = || match item {
            InputItem::Value(_, nested) => {
                nested.into_iter().map(|nested| input(100 + number, STRING, Some(nested.provisional))).collect()
            }
            InputItem::Binary(_) => Vec::new(),
        };
        let streams = self.nested.entry((id, sequence)).or_insert_with(introduced).clone();
        self.on(Event::Stored { stream: id, through, streams });
    }

    fn perform(&mut self, actions: Vec<Action<'_>>) {
        for action in actions {
            assert_ne!(self.phase, Phase::Closed, "after its close: {action:?}");
            match action {
                Action::Start(_) | Action::Attach(_) => {
                    assert_eq!(self.phase, Phase::First, "a second evaluation");
                    self.phase = Phase::Evaluating;
                    self.asked.push_back(Asked::Evaluate);
                }
                Action::Send(text) => {
                    let message = ServerMessage::decode(text.as_bytes()).expect("what is sent can be read");
                    self.hear(message);
                }
                Action::SendBinary(head, payload) => {
                    let message = Bytes::from([&head[..], &payload].concat());
                    let message = BinaryMessage::decode(&message, Role::Output).expect("what is sent can be read");
                    self.hear_item(message.channel, message.sequence);
                }
                Action::Store { stream, sequence, item } => {
                    let input = self.open_input(stream);
                    assert_eq!(sequence, input.asked, "items are stored in their order");
                    assert!(!input.is_closed && !input.dropped, "an item is stored after the end");
                    input.asked += count(&item);
                    self.asked.push_back(Asked::Item(stream, sequence, item));
                }
                Action::Compare { stream, sequence, item } => {
                    let input = self.open_input(stream);
                    assert!(sequence + count(&item) <= input.asked, "what was never sent is compared");
                    self.asked.push_back(Asked::Item(stream, sequence, item));
                }
                Action::End { stream, sequence } => {
                    let input = self.open_input(stream);
                    assert!(!input.cancelled && !input.dropped && sequence == input.asked, "an end of another length");
                    (input.ended, input.is_closed) = (Some(sequence), true);
                    self.asked.push_back(Asked::End(stream));
                }
                Action::CancelInput { stream, reason } => {
                    let input = self.open_input(stream);
                    assert!(!input.is_closed && !input.dropped, "what has ended is cancelled");
                    (input.cancelled, input.is_closed) = (true, true);
                    self.asked.push_back(Asked::Cancel(stream, reason));
                }
                Action::CancelOutput { stream, .. } => {
                    let output = self.outputs.get_mut(&stream).expect("an output is cancelled");
                    assert!(!std::mem::replace(&mut output.cancelled, true) && !output.ended, "cancelled once");
                }
                Action::Detach => {
                    assert!(matches!(self.phase, Phase::Open | Phase::Evaluating), "detached once");
                    self.phase = Phase::Detaching;
                    self.asked.push_back(Asked::Detach);
                }
                Action::Close(_) => {
                    let replaced = self.phase == Phase::Open && self.is_silent;
                    assert!(replaced || self.phase != Phase::Open, "closed before the session is detached");
                    self.phase = Phase::Closed;
                }
            }
        }
        assert_eq!(self.connection.is_closed(), self.phase == Phase::Closed);
    }

    fn open_input(&mut self, stream: Uuid) -> &mut Input {
        assert_eq!(self.phase, Phase::Open, "nothing is stored for a session that is not attached");
        self.inputs.get_mut(&stream).expect("an input is changed")
    }

    /// The client hears a text message.
    fn hear(&mut self, message: ServerMessage<'_>) {
        assert!(!self.is_silent, "said after the last word: {message:?}");
        match message {
            ServerMessage::Accepted { attempt, mappings, .. } => {
                assert_eq!((attempt, self.phase), (ATTEMPT, Phase::Evaluating));
                self.phase = Phase::Open;
                self.map(mappings);
            }
            ServerMessage::Rejected(rejection) => {
                assert!(rejection.attempt.is_none_or(|attempt| attempt == ATTEMPT));
                assert!(self.phase != Phase::Open || !rejection.retryable, "a violation cannot be tried again");
                self.is_silent = true;
            }
            message => {
                assert_eq!(self.phase, Phase::Open, "said to whom was not accepted: {message:?}");
                self.hear_open(message);
            }
        }
    }

    fn hear_open(&mut self, message: ServerMessage<'_>) {
        match message {
            ServerMessage::Revoked | ServerMessage::Finished(_) => self.is_silent = true,
            ServerMessage::Item { channel, sequence, mappings, .. } => {
                self.map(mappings);
                self.hear_item(channel, sequence);
            }
            ServerMessage::End { channel, .. } => {
                let output = self.outputs.get_mut(&self.channels[&channel]).expect("an output ends");
                assert!(!std::mem::replace(&mut output.ended, true), "an output ends twice");
            }
            ServerMessage::Ack { channel, sequence, mappings, terminal } => {
                self.map(mappings);
                let input = &self.inputs[&self.channels[&channel]];
                assert!(sequence <= input.durable, "what is not durable is acknowledged");
                assert!(!terminal || input.is_closed || input.dropped, "an input that goes on is told to have ended");
            }
            ServerMessage::Cancel { channel, .. } => {
                let input = &self.inputs[&self.channels[&channel]];
                assert!(input.cancelled || input.dropped, "nobody has cancelled it");
            }
            ServerMessage::Result { mappings, .. } => self.map(mappings),
            ServerMessage::Accepted { .. } | ServerMessage::Rejected(_) => {}
        }
    }

    fn hear_item(&mut self, channel: u32, sequence: u64) {
        assert!(!self.is_silent && self.phase == Phase::Open, "an item for whom is not attached");
        let output = &self.outputs[&self.channels[&channel]];
        assert!(!output.cancelled && !output.ended && sequence < output.next, "an item that nobody waits for");
    }

    /// Takes mappings as a client does (M2).
    fn map(&mut self, mappings: Vec<stream_session::message::Mapping>) {
        for mapping in mappings {
            let stream = Uuid::parse_str(&mapping.stream_token).expect("tokens are ids here");
            let known = self.channels.insert(mapping.channel, stream);
            assert!(known.is_none_or(|known| known == stream), "a channel is bound twice");
            let channels = self.channels.values().filter(|known| **known == stream).count();
            assert_eq!(channels, 1, "a stream has two channels");
            match mapping.role() {
                Role::Input => drop(self.inputs.entry(stream).or_default()),
                Role::Output => drop(self.outputs.entry(stream).or_default()),
            }
        }
    }
}

fn acceptance() -> Acceptance {
    let inputs = [BYTE, STRING, STREAM].into_iter().zip(1..).map(|(of, id)| input(id, of, None));
    let outputs = OUTPUTS.map(|id| stream(id.into(), StreamWay::Output));
    Acceptance {
        attempt: ATTEMPT,
        idempotency_key: "k".into(),
        session_token: "t".into(),
        streams: inputs.chain(outputs).collect(),
    }
}

fn count(item: &InputItem) -> u64 {
    match item {
        InputItem::Value(..) => 1,
        InputItem::Binary(items) => items.count(),
    }
}

#[test]
fn a_server_does_nothing_that_its_state_forbids_whatever_its_client_says() {
    let seeds = seeds();
    fuzz_scripts(step(), |script| {
        let mut world = World::new(&seeds[0]);
        script.iter().for_each(|step| world.take(step, &seeds));
        world.on(Event::Lost);
        while !world.asked.is_empty() {
            world.answer(true);
        }
        assert!(world.connection.is_closed(), "a connection that is lost ends");
    });
}
