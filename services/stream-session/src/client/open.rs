//! What a server says to a client that it has accepted (K2, K3).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::first::{Kind, Pending};
use super::{
    Action, Client, Delivery, End, Frame, InputId, Item, Named, Output, OutputId, Returned, State, out_of_turn,
    protocol_error,
};
use crate::binary::BinaryMessage;
use crate::graph::{Graph, Lane};
use crate::message::{InvocationOutcome, Mapping, MethodResult, Node, OutputOutcome, ServerMessage, Way};
use crate::server::Element;
use crate::token::Role;
use crate::value::{Decoded, StreamPolicy, StreamRef, Value};
use crate::{ErrorCode, Refusal, limits};

type Outcome = Result<Vec<Action>, Refusal>;

impl Client {
    /// The pending message was accepted.
    pub(super) fn accepted(
        &mut self,
        of: (Uuid, &str),
        mappings: Vec<Mapping>,
        session_token: String,
        now: Duration,
    ) -> Outcome {
        let pending = self.pending.take().ok_or_else(out_of_turn)?;
        if of != (pending.attempt, self.idempotency_key.as_str()) {
            return Err(protocol_error("another attempt was accepted"));
        }
        self.inputs.iter_mut().for_each(super::Input::detach);
        self.outputs.iter_mut().for_each(Output::detach);
        self.check_complete(&pending, &mappings)?;
        self.state = if pending.in_doubt { State::OpenAgain } else { State::Open };
        self.session_token = Some(session_token.clone());
        self.backoff.accepted(now);
        let mut actions = vec![Action::Deliver(Delivery::Accepted { session_token })];
        actions.extend(self.install(mappings)?);
        Ok(actions)
    }

    /// A start maps each of its references once, and an attach everything that is known (K2).
    fn check_complete(&self, pending: &Pending, mappings: &[Mapping]) -> Result<(), Refusal> {
        let references: Vec<Uuid> = mappings.iter().filter_map(provisional).collect();
        let complete = match &pending.kind {
            Kind::Start(expected) => {
                let expected: HashSet<_> = expected.iter().collect();
                expected.len() == references.len() && references.iter().all(|reference| expected.contains(reference))
            }
            Kind::Attach(_) => references.is_empty(),
        };
        let mapped: HashSet<&str> = mappings.iter().map(|mapping| mapping.stream_token.as_str()).collect();
        if complete && self.by_token.keys().chain(self.left.keys()).all(|token| mapped.contains(token.as_str())) {
            return Ok(());
        }
        Err(protocol_error("the acceptance does not map the streams of the session"))
    }

    /// Takes mappings in, and says what to send on streams that are attached by them.
    fn install(&mut self, mappings: Vec<Mapping>) -> Outcome {
        let mut actions = Vec::new();
        for mapping in mappings {
            actions.extend(self.install_one(mapping)?);
        }
        Ok(actions)
    }

    fn install_one(&mut self, mapping: Mapping) -> Outcome {
        if self.repeats(&mapping)? {
            return Ok(Vec::new());
        }
        let known = self.by_token.get(&mapping.stream_token).copied();
        let Mapping { channel, stream_token, way } = mapping;
        let (end, actions) = match (known, way) {
            (None, Way::Input { provisional: Some(reference), high_water, terminal }) => {
                let named = self.input_named(reference);
                let input = named.ok_or_else(|| protocol_error("a stream is mapped that nobody named"))?;
                self.nameless.remove(&channel);
                (End::Input(input), self.inputs[input.0].attach(channel, high_water, terminal))
            }
            (None, Way::Input { provisional: None, high_water, terminal }) => {
                let Some(input) = self.inputs.iter().position(super::Input::is_left).map(InputId) else {
                    self.nameless.insert(channel, stream_token);
                    return Ok(Vec::new());
                };
                (End::Input(input), self.inputs[input.0].attach(channel, high_water, terminal))
            }
            (Some(End::Input(input)), Way::Input { high_water, terminal, .. }) => {
                (End::Input(input), self.inputs[input.0].attach(channel, high_water, terminal))
            }
            (Some(End::Output(output)), Way::Output) => {
                (End::Output(output), self.outputs[output.0].attach(channel).into_iter().collect())
            }
            (None, Way::Output) => match self.announced.remove(&stream_token) {
                Some(named) => self.new_output(stream_token.clone(), channel, named),
                None => {
                    self.early.insert(channel, Vec::new());
                    self.unnamed.insert(stream_token, channel);
                    return Ok(Vec::new());
                }
            },
            _ => return Err(conflict("a stream goes another way than before")),
        };
        self.by_token.insert(stream_token, end);
        self.by_channel.insert(channel, end);
        Ok(actions)
    }

    /// Whether a mapping repeats one of this connection. What contradicts one is refused (M2).
    fn repeats(&self, mapping: &Mapping) -> Result<bool, Refusal> {
        let Mapping { channel, stream_token, way } = mapping;
        let by_channel = match self.by_channel.get(channel) {
            Some(bound) => Some(self.by_token.get(stream_token) == Some(bound)),
            None if self.early.contains_key(channel) => Some(self.unnamed.get(stream_token) == Some(channel)),
            None => self.nameless.get(channel).map(|token| token == stream_token),
        };
        match by_channel {
            Some(false) => return Err(conflict("a channel is bound twice")),
            // The answer to what named it gives a nameless input its name.
            Some(true) => return Ok(!self.nameless.contains_key(channel) || provisional(mapping).is_none()),
            None => {}
        }
        let attached = match self.by_token.get(stream_token) {
            Some(End::Input(input)) => self.inputs[input.0].is_attached(),
            Some(End::Output(output)) => self.outputs[output.0].is_attached(),
            None => {
                self.unnamed.contains_key(stream_token) || self.nameless.values().any(|token| token == stream_token)
            }
        };
        let named_twice = match way {
            Way::Input { provisional: Some(reference), .. } => {
                self.input_named(*reference).is_some_and(|input| self.inputs[input.0].is_attached())
            }
            _ => false,
        };
        if attached || named_twice { Err(conflict("a stream has two channels")) } else { Ok(false) }
    }

    fn new_output(&mut self, token: String, channel: u32, named: Named) -> (End, Vec<Action>) {
        let output = OutputId(self.outputs.len());
        let mut stream = Output::new(token.clone(), named, self.left.remove(&token));
        // It is new, and nothing was cancelled.
        let _ = stream.attach(channel);
        self.outputs.push(stream);
        (End::Output(output), vec![Action::Deliver(Delivery::NewOutput { output, token })])
    }

    /// A message about streams, or the result.
    pub(super) fn stream_message(&mut self, message: ServerMessage<'_>) -> Outcome {
        match message {
            ServerMessage::Result { mappings, result } => self.returned(mappings, result),
            ServerMessage::Item { channel, sequence, cursor, mappings, value } => {
                let Node::Json(node) = value else { return Err(out_of_turn()) };
                let output = self.output_at(channel)?;
                let element = self.outputs[output.0].element().clone();
                if element.lane != Lane::Json {
                    return Err(protocol_error("an item comes on another lane than its own"));
                }
                let decoded = Value::read(&element.graph, &element.of, StreamPolicy::Stable, &node)?;
                let tokens: Vec<_> = decoded.streams.iter().filter_map(|(stream, _)| token(stream)).collect();
                let (value, mut actions) = self.announce(&element.graph, decoded, Some(output));
                actions.extend(self.install(mappings)?);
                let names = tokens.iter().filter_map(|token| match self.by_token.get(token) {
                    Some(End::Output(named)) => Some(*named),
                    _ => None,
                });
                let names = names.collect();
                actions.extend(self.deliver(output, sequence, Item::Value(value), (cursor, names))?);
                Ok(actions)
            }
            ServerMessage::End { channel, sequence, cursor, outcome } => {
                let output = self.output_at(channel)?;
                let first = self.outputs[output.0].end(sequence, cursor)?;
                let told = Action::Deliver(Delivery::Ended { output, outcome });
                Ok(first.then_some(told).into_iter().collect())
            }
            ServerMessage::Ack { channel, sequence, mappings, terminal } => {
                let actions = self.install(mappings)?;
                if self.nameless.contains_key(&channel) {
                    return Ok(actions);
                }
                let Some(&End::Input(input)) = self.by_channel.get(&channel) else { return Err(unbound()) };
                if let Some(named) = self.inputs[input.0].first_names() {
                    let is_mapped = |name| self.input_named(name).is_some_and(|named| self.inputs[named.0].is_mapped());
                    let mapped: Vec<_> = named.iter().copied().filter(|&name| is_mapped(name)).collect();
                    self.inputs[input.0].named(&mapped);
                }
                match self.inputs[input.0].acknowledge(sequence, terminal) {
                    true => Ok(actions),
                    false => Err(protocol_error("input is acknowledged that was not sent")),
                }
            }
            ServerMessage::Cancel { channel, .. } if self.nameless.contains_key(&channel) => Ok(Vec::new()),
            ServerMessage::Cancel { channel, reason } => match *self.by_channel.get(&channel).ok_or_else(unbound)? {
                End::Input(input) => {
                    self.inputs[input.0].close();
                    Ok(vec![Action::Deliver(Delivery::InputCancelled { input, reason })])
                }
                End::Output(output) => {
                    // As good as its end, but without a cursor (Q6).
                    let first = self.outputs[output.0].end(0, None)?;
                    let outcome = OutputOutcome::Cancelled(reason);
                    let told = Action::Deliver(Delivery::Ended { output, outcome });
                    Ok(first.then_some(told).into_iter().collect())
                }
            },
            _ => Err(out_of_turn()),
        }
    }

    /// Bytes of an output.
    pub(super) fn output_bytes(&mut self, message: &Bytes) -> Outcome {
        let BinaryMessage { channel, sequence, items, cursor } = BinaryMessage::decode(message, Role::Output)?;
        if self.early.contains_key(&channel) {
            return self.keep_early(Frame::Binary(message.clone()), Some(channel));
        }
        let output = self.output_at(channel)?;
        let element = self.outputs[output.0].element();
        items.check(&element.graph, &element.of)?;
        self.deliver(output, sequence, Item::Binary(items), (cursor.unwrap_or_default(), Vec::new()))
    }

    fn deliver(&mut self, output: OutputId, sequence: u64, item: Item, cursor: (String, Vec<OutputId>)) -> Outcome {
        let fresh = self.outputs[output.0].arrived(sequence, item, cursor)?;
        let told = fresh.map(|(sequence, item)| Action::Deliver(Delivery::Item { output, sequence, item }));
        Ok(told.into_iter().collect())
    }

    fn returned(&mut self, mappings: Vec<Mapping>, result: MethodResult<'_>) -> Outcome {
        if std::mem::replace(&mut self.returned_here, true) {
            return Err(protocol_error("the method returns twice"));
        }
        let (value, canonical, mut actions) = match result {
            MethodResult::None => (None, String::new(), Vec::new()),
            MethodResult::Value { graph: Node::Json(graph), value: Node::Json(node) } => {
                let graph = Arc::new(Graph::read(&graph)?);
                let decoded = Value::read(&graph, graph.root(), StreamPolicy::Stable, &node)?;
                let canonical = decoded.value.canonical();
                let (value, named) = self.announce(&graph, decoded, None);
                (Some(Returned { graph, value }), canonical, named)
            }
            MethodResult::Value { .. } => return Err(out_of_turn()),
        };
        actions.extend(self.install(mappings)?);
        match &self.returned {
            Some(known) if *known != canonical => return Err(protocol_error("the method returns something else")),
            Some(_) => {}
            // Before the items of the streams that it names.
            None => actions.insert(0, Action::Deliver(Delivery::Returned(value))),
        }
        self.returned = Some(canonical);
        Ok(actions)
    }

    /// Remembers the types of the streams that a value names, so that they can be mapped, or are those that were.
    fn announce(&mut self, graph: &Arc<Graph>, decoded: Decoded<'_>, within: Option<OutputId>) -> (Value, Vec<Action>) {
        let mut actions = Vec::new();
        for (reference, of) in decoded.streams {
            let StreamRef::Stable(token) = reference else { continue };
            if self.by_token.contains_key(&token) {
                continue;
            }
            let named = Named { element: Element::new(Arc::clone(graph), of.clone()), within };
            match self.unnamed.remove(&token) {
                Some(channel) => {
                    let early = self.early.remove(&channel).unwrap_or_default();
                    self.early_bytes -= early.iter().map(Frame::bytes).sum::<usize>();
                    self.due.extend(early);
                    let (end, told) = self.new_output(token.clone(), channel, named);
                    self.by_token.insert(token, end);
                    self.by_channel.insert(channel, end);
                    actions.extend(told);
                }
                None => drop(self.announced.insert(token, named)),
            }
        }
        (decoded.value, actions)
    }

    /// Whether a message is about an output that no value has named yet.
    pub(super) fn is_early(&self, message: &ServerMessage<'_>) -> bool {
        channel(message).is_some_and(|channel| self.early.contains_key(&channel))
    }

    /// Keeps a message until its output is named, which is within as much as a session may queue.
    pub(super) fn keep_early(&mut self, frame: Frame, channel: Option<u32>) -> Outcome {
        self.proceed();
        self.early_bytes += frame.bytes();
        if self.early_bytes > limits::MESSAGE_BYTES {
            return Err(Refusal::exhausted("too much comes on streams that nothing has named"));
        }
        if let Some(early) = channel.and_then(|channel| self.early.get_mut(&channel)) {
            early.push(frame);
        }
        Ok(Vec::new())
    }

    /// What a message led to, and then what was early and is not any more.
    pub(super) fn and_what_is_due(&mut self, read: Outcome) -> Vec<Action> {
        let mut actions = match read {
            Ok(actions) => actions,
            Err(refusal) => return self.broken(refusal),
        };
        while let Some(frame) = self.due.pop_front() {
            let read = match &frame {
                Frame::Binary(message) => self.output_bytes(message),
                Frame::Text(text) => match ServerMessage::decode(text) {
                    Ok(message) => self.stream_message(message),
                    Err(undecodable) => Err(undecodable.refusal),
                },
            };
            match read {
                Ok(more) => actions.extend(more),
                Err(refusal) => {
                    actions.extend(self.broken(refusal));
                    return actions;
                }
            }
        }
        actions
    }

    /// Success has a result, and no output goes on after it (K3).
    pub(super) fn check_finished(&self, outcome: &InvocationOutcome) -> Result<(), Refusal> {
        let complete = self.returned.is_some() && self.outputs.iter().all(Output::has_ended);
        match outcome {
            InvocationOutcome::Success if !complete => Err(protocol_error("the invocation ends before its streams do")),
            _ => Ok(()),
        }
    }

    fn output_at(&self, channel: u32) -> Result<OutputId, Refusal> {
        match self.by_channel.get(&channel) {
            Some(End::Output(output)) => Ok(*output),
            _ => Err(unbound()),
        }
    }
}

impl Frame {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(message) => message.len(),
        }
    }
}

/// The stream that a message is about, unless it is an acknowledgement.
pub(super) fn channel(message: &ServerMessage<'_>) -> Option<u32> {
    match message {
        ServerMessage::Item { channel, .. }
        | ServerMessage::End { channel, .. }
        | ServerMessage::Cancel { channel, .. } => Some(*channel),
        _ => None,
    }
}

fn token(stream: &StreamRef) -> Option<String> {
    match stream {
        StreamRef::Stable(token) => Some(token.clone()),
        StreamRef::Provisional(_) => None,
    }
}

fn provisional(mapping: &Mapping) -> Option<Uuid> {
    match mapping.way {
        Way::Input { provisional, .. } => provisional,
        Way::Output => None,
    }
}

fn conflict(text: &'static str) -> Refusal {
    Refusal::new(ErrorCode::StreamConflict, text)
}

fn unbound() -> Refusal {
    protocol_error("a message is for a channel that is not bound")
}
