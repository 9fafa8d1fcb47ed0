//! A connection whose session is attached (protocol.md sections 8 to 13 and 16).

use std::collections::HashMap;

use bytes::Bytes;
use uuid::Uuid;

use super::input::{Ending, Input, Verdict};
use super::output::{Output, item_message};
use super::{Action, Event, InputItem, MethodValue, OutputItem, Stream, StreamWay};
use crate::binary::BinaryMessage;
use crate::graph::Lane;
use crate::message::{ClientMessage, ClientReason, Mapping, MethodResult, Node, ServerMessage, ServerReason, Way};
use crate::token::Role;
use crate::{ErrorCode, Refusal};

/// The streams of a connection.
#[derive(Debug)]
pub(super) struct Open {
    attempt: Uuid,
    ends: HashMap<u32, End>,
    channels: HashMap<Uuid, u32>,
}

/// This end of a stream.
#[derive(Debug)]
enum End {
    Input(Box<Input>),
    Output(Uuid, Output),
}

type Actions = Vec<Action<'static>>;

impl Open {
    pub(super) fn new(attempt: Uuid) -> Self {
        Self { attempt, ends: HashMap::new(), channels: HashMap::new() }
    }

    pub(super) fn attempt(&self) -> Uuid {
        self.attempt
    }

    /// Numbers streams that are new here, and says where all of them are (N3).
    pub(super) fn install(&mut self, streams: Vec<Stream>, next_channel: &mut u32) -> Vec<Mapping> {
        streams.into_iter().map(|stream| self.install_one(stream, next_channel)).collect()
    }

    fn install_one(&mut self, stream: Stream, next_channel: &mut u32) -> Mapping {
        let Stream { id, token, way } = stream;
        let channel = *self.channels.entry(id).or_insert_with(|| {
            let channel = *next_channel;
            *next_channel += 1;
            channel
        });
        let (end, way) = match way {
            StreamWay::Input { element, provisional, high_water, terminal } => {
                let input = Input::new(id, *element, high_water, terminal);
                let way = Way::Input { provisional, high_water, terminal: terminal.is_some() };
                (End::Input(Box::new(input)), way)
            }
            StreamWay::Output => (End::Output(id, Output::default()), Way::Output),
        };
        self.ends.entry(channel).or_insert(end);
        Mapping { channel, stream_token: token, way }
    }

    /// The client sent a text message.
    pub(super) fn message<'t>(&mut self, message: ClientMessage<'t>) -> Result<Vec<Action<'t>>, Refusal> {
        match message {
            ClientMessage::Start(_) | ClientMessage::Attach(_) => {
                Err(Refusal::new(ErrorCode::ProtocolError, "the connection is attached already"))
            }
            ClientMessage::Item { channel, sequence, value } => self.item(channel, sequence, &value),
            ClientMessage::End { channel, sequence } => self.end(channel, sequence),
            ClientMessage::Cancel { channel, reason } => self.cancel(channel, reason),
        }
    }

    fn item(&mut self, channel: u32, sequence: u64, value: &Node<'_>) -> Result<Actions, Refusal> {
        let input = self.input(channel)?;
        input.check_lane(Lane::Json)?;
        let verdict = input.items(sequence, 1)?;
        if verdict == Verdict::Drop {
            return Ok(Vec::new());
        }
        let item = input.read(value)?;
        Ok(vec![accepted(verdict, input.stream, sequence, item)])
    }

    /// The client sent a binary message.
    pub(super) fn binary(&mut self, message: &Bytes) -> Result<Actions, Refusal> {
        let BinaryMessage { channel, sequence, items, .. } = BinaryMessage::decode(message, Role::Input)?;
        let input = self.input(channel)?;
        input.check_lane(items.lane())?;
        let verdict = input.items(sequence, items.count())?;
        if verdict == Verdict::Drop {
            return Ok(Vec::new());
        }
        input.check(&items)?;
        Ok(vec![accepted(verdict, input.stream, sequence, InputItem::Binary(items))])
    }

    fn end(&mut self, channel: u32, sequence: u64) -> Result<Actions, Refusal> {
        let input = self.input(channel)?;
        let stream = input.stream;
        Ok(match input.end(sequence)? {
            Ending::Store => vec![Action::End { stream, sequence }],
            Ending::Ignore => Vec::new(),
        })
    }

    fn cancel(&mut self, channel: u32, reason: ClientReason) -> Result<Actions, Refusal> {
        match self.ends.get_mut(&channel).ok_or_else(unknown_channel)? {
            End::Input(input) => {
                let stream = input.stream;
                Ok(match input.cancel()? {
                    Ending::Store => vec![Action::CancelInput { stream, reason }],
                    Ending::Ignore => Vec::new(),
                })
            }
            End::Output(stream, output) => {
                let stream = *stream;
                let tell = output.cancel()?;
                Ok(if tell { vec![Action::CancelOutput { stream, reason }] } else { Vec::new() })
            }
        }
    }

    fn input(&mut self, channel: u32) -> Result<&mut Input, Refusal> {
        match self.ends.get_mut(&channel) {
            Some(End::Input(input)) => Ok(input),
            Some(End::Output(..)) => Err(Refusal::new(ErrorCode::InvalidChannel, "the stream goes the other way")),
            None => Err(unknown_channel()),
        }
    }

    /// Something happened to a stream, or the method returned.
    pub(super) fn on(&mut self, event: Event, next_channel: &mut u32) -> Actions {
        match event {
            Event::Stored { stream, through, streams } => {
                let mappings = self.install(streams, next_channel);
                let Some((channel, input)) = self.input_of(stream) else { return Vec::new() };
                let terminal = input.is_terminal();
                vec![send(&ServerMessage::Ack { channel, sequence: through, mappings, terminal })]
            }
            Event::EndStored { stream } => {
                let Some((channel, input)) = self.input_of(stream) else { return Vec::new() };
                let ack = |sequence| ServerMessage::Ack { channel, sequence, mappings: Vec::new(), terminal: true };
                input.end_stored().map(|count| send(&ack(count))).into_iter().collect()
            }
            Event::CancelStored { stream, reason } => {
                let cancel = |channel| ServerMessage::Cancel { channel, reason: reason.into() };
                self.channels.get(&stream).map(|&channel| send(&cancel(channel))).into_iter().collect()
            }
            Event::InputDropped { stream, reason } => {
                let Some((channel, input)) = self.input_of(stream) else { return Vec::new() };
                let tell = input.drop_by_server();
                tell.then(|| send(&ServerMessage::Cancel { channel, reason })).into_iter().collect()
            }
            Event::Output { stream, sequence, cursor, item } => {
                self.output(stream, sequence, cursor, item, next_channel)
            }
            Event::OutputEnded { stream, sequence, cursor, outcome } => {
                let Some((channel, output)) = self.output_of(stream) else { return Vec::new() };
                let first = output.end();
                let ended = ServerMessage::End { channel, sequence, cursor, outcome };
                first.then(|| send(&ended)).into_iter().collect()
            }
            Event::Returned(value) => vec![self.returned(value, next_channel)],
            _ => Vec::new(),
        }
    }

    /// Nobody reads the inputs any more (Q7).
    pub(super) fn drop_inputs(&mut self, reason: ServerReason) -> Actions {
        let mut dropped: Vec<_> = self
            .ends
            .iter_mut()
            .filter_map(|(&channel, end)| match end {
                End::Input(input) => input.drop_by_server().then_some(channel),
                End::Output(..) => None,
            })
            .collect();
        dropped.sort_unstable();
        dropped.into_iter().map(|channel| send(&ServerMessage::Cancel { channel, reason })).collect()
    }

    fn output(
        &mut self,
        stream: Uuid,
        sequence: u64,
        cursor: String,
        mut item: OutputItem,
        next_channel: &mut u32,
    ) -> Actions {
        let wanted = self.output_of(stream).filter(|(_, output)| output.is_wanted());
        let Some((channel, _)) = wanted else { return Vec::new() };
        let streams = match &mut item {
            OutputItem::Value(_, streams) => std::mem::take(streams),
            OutputItem::Binary(_) => Vec::new(),
        };
        let mappings = self.install(streams, next_channel);
        vec![item_message(channel, sequence, cursor, &item, mappings)]
    }

    fn returned(&mut self, value: Option<MethodValue>, next_channel: &mut u32) -> Action<'static> {
        let Some(MethodValue { graph, value, streams }) = value else {
            return send(&ServerMessage::Result { mappings: Vec::new(), result: MethodResult::None });
        };
        let mappings = self.install(streams, next_channel);
        let result = MethodResult::Value { graph: Node::Text(&graph), value: Node::Text(&value) };
        send(&ServerMessage::Result { mappings, result })
    }

    fn input_of(&mut self, stream: Uuid) -> Option<(u32, &mut Input)> {
        let channel = *self.channels.get(&stream)?;
        match self.ends.get_mut(&channel)? {
            End::Input(input) => Some((channel, input)),
            End::Output(..) => None,
        }
    }

    fn output_of(&mut self, stream: Uuid) -> Option<(u32, &mut Output)> {
        let channel = *self.channels.get(&stream)?;
        match self.ends.get_mut(&channel)? {
            End::Output(_, output) => Some((channel, output)),
            End::Input(_) => None,
        }
    }
}

fn accepted(verdict: Verdict, stream: Uuid, sequence: u64, item: InputItem) -> Action<'static> {
    match verdict {
        Verdict::Store | Verdict::Drop => Action::Store { stream, sequence, item },
        Verdict::Compare => Action::Compare { stream, sequence, item },
    }
}

fn send(message: &ServerMessage<'_>) -> Action<'static> {
    Action::Send(message.encode())
}

fn unknown_channel() -> Refusal {
    Refusal::new(ErrorCode::InvalidChannel, "there is no stream on this channel")
}
