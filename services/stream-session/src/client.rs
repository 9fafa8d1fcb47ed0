//! A session as its client sees it, across connections (protocol.md section 20): events and commands in, actions out, no
//! I/O and no clock.
//!
//! Whoever drives a [`Client`] connects when told to, hands over what arrives, and performs the actions in their order. The
//! client keeps what is needed to go on: the message that was last sent and not answered, the session token, input that was
//! not acknowledged, and the cursor of each output up to which the application has taken its items.

mod first;
mod input;
mod open;
mod output;
mod retry;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::graph::Graph;
use crate::message::{ClientReason, InvocationOutcome, OutputOutcome, Rejection, ServerMessage, ServerReason};
use crate::server::Element;
use crate::value::Value;
use crate::{ErrorCode, Refusal};
use first::Pending;
use input::Input;
use output::Output;
use retry::Backoff;

pub use first::{Resumption, Start};
pub use input::{Item, WriteError};

/// An input of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InputId(usize);

/// An output of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutputId(usize);

/// What happens to a client, besides what the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a connection, with the right subprotocol.
    Connected,
    /// There is none: nothing answers, or with status 429 or from 500 on.
    Unreachable,
    /// The server does not take the connection, and will not take the next one either.
    Refused(ErrorCode),
    /// The connection is gone.
    Lost,
    /// The server closed the connection with this code (section 17).
    Closed(u16),
}

/// What the driver is to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Connect, after a pause of at most so long, and tell [`Event::Connected`] or [`Event::Unreachable`].
    Connect(Duration),
    /// Send a text message.
    Send(String),
    /// Send a binary message: what comes before its payload, and the payload.
    SendBinary(Vec<u8>, Bytes),
    /// Give this to the application.
    Deliver(Delivery),
    /// Drop the connection.
    Disconnect,
}

/// What the application is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// The session exists, and goes on from here even if this process dies: what to keep is its token.
    Accepted {
        /// The token.
        session_token: String,
    },
    /// The method returned; `None` if it has no output type.
    Returned(Option<Returned>),
    /// There is an output.
    NewOutput {
        /// How it is called from now on.
        output: OutputId,
        /// The token by which a value named it.
        token: String,
    },
    /// An item of an output. To be answered with [`Client::consumed`].
    Item {
        /// The output.
        output: OutputId,
        /// Its index, or that of its first byte.
        sequence: u64,
        /// The item.
        item: Item,
    },
    /// An output has ended.
    Ended {
        /// The output.
        output: OutputId,
        /// How.
        outcome: OutputOutcome,
    },
    /// An input is of no use to the agent.
    InputCancelled {
        /// The input.
        input: InputId,
        /// Why.
        reason: ServerReason,
    },
    /// Everything has ended.
    Finished(InvocationOutcome),
    /// Somebody else has taken the session over.
    Revoked,
    /// It does not go on.
    Failed(Refusal),
}

/// What a method returned.
#[derive(Clone, Debug)]
pub struct Returned {
    /// Rooted at the method's output type.
    pub graph: Arc<Graph>,
    /// The value.
    pub value: Value,
}

/// A session, from its start to its end.
#[derive(Debug)]
pub struct Client {
    state: State,
    idempotency_key: String,
    /// What is sent once there is a connection.
    pending: Option<Pending>,
    session_token: Option<String>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    by_token: HashMap<String, End>,
    /// The streams of this connection.
    by_channel: HashMap<u32, End>,
    /// Streams that values have named and no mapping yet.
    announced: HashMap<String, Named>,
    /// The channels of outputs that no value has named yet: an acceptance maps what is only named by what follows it.
    unnamed: HashMap<String, u32>,
    /// What has come on the channels of [`Self::unnamed`], as it came, and how many bytes that is.
    early: HashMap<u32, Vec<Frame>>,
    early_bytes: usize,
    /// What was early, and now has its turn.
    due: VecDeque<Frame>,
    /// Inputs that this connection maps and nobody here knows, with their tokens: what named them was accepted, and its
    /// acknowledgement lost.
    nameless: HashMap<u32, String>,
    /// Cursors that another process has left, by the token of their outputs, until those are named.
    left: BTreeMap<String, String>,
    /// What the method returned, as canonical text: it comes again after a resume.
    returned: Option<String>,
    /// It has come on this connection.
    returned_here: bool,
    backoff: Backoff,
}

/// A message of the server.
#[derive(Debug)]
enum Frame {
    Text(Vec<u8>),
    Binary(Bytes),
}

/// An output that a value names.
#[derive(Debug)]
struct Named {
    element: Element,
    /// The output whose item that value is, unless it is the result.
    within: Option<OutputId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Awaiting,
    /// Nothing but its acceptance has come, in answer to a message that was sent before.
    OpenAgain,
    Open,
    Over,
}

/// This end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Input(InputId),
    Output(OutputId),
}

impl Client {
    fn new(idempotency_key: String, pending: Pending, inputs: Vec<Input>) -> Self {
        Self {
            state: State::Connecting,
            idempotency_key,
            pending: Some(pending),
            session_token: None,
            inputs,
            outputs: Vec::new(),
            by_token: HashMap::new(),
            by_channel: HashMap::new(),
            announced: HashMap::new(),
            unnamed: HashMap::new(),
            early: HashMap::new(),
            early_bytes: 0,
            due: VecDeque::new(),
            nameless: HashMap::new(),
            left: BTreeMap::new(),
            returned: None,
            returned_here: false,
            backoff: Backoff::default(),
        }
    }

    /// The n-th input of the start.
    #[must_use]
    pub fn input(&self, n: usize) -> Option<InputId> {
        (n < self.inputs.len()).then_some(InputId(n))
    }

    /// The input that a value named so, which was started with or written.
    #[must_use]
    pub fn input_named(&self, reference: Uuid) -> Option<InputId> {
        self.inputs.iter().position(|input| input.reference() == Some(reference)).map(InputId)
    }

    /// The inputs that the application writes.
    pub fn inputs(&self) -> impl Iterator<Item = InputId> + use<> {
        (0..self.inputs.len()).map(InputId)
    }

    /// How many items an input has so far; `None` where another process has begun it and the server has not told yet.
    #[must_use]
    pub fn input_position(&self, input: InputId) -> Option<u64> {
        self.inputs[input.0].position()
    }

    /// The type of an input's items.
    #[must_use]
    pub fn input_element(&self, input: InputId) -> &Element {
        self.inputs[input.0].element()
    }

    /// The type of an output's items.
    #[must_use]
    pub fn output_element(&self, output: OutputId) -> &Element {
        self.outputs[output.0].element()
    }

    /// Whether it has come to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// The message that was sent, or is to be sent, and is not answered.
    #[must_use]
    pub fn pending(&self) -> Option<&str> {
        self.pending.as_ref().map(|pending| pending.text.as_str())
    }

    /// The token of the latest acceptance.
    #[must_use]
    pub fn session_token(&self) -> Option<&str> {
        self.session_token.as_deref()
    }

    /// The cursor of each output up to which the application has taken its items, by the token of the output (K7). That of an
    /// item that names outputs stays behind until those are taken to their ends: a client that begins with it learns of them.
    #[must_use]
    pub fn cursors(&self) -> BTreeMap<&str, &str> {
        let left = self.left.iter().map(|(token, cursor)| (token.as_str(), cursor.as_str()));
        left.chain(self.outputs.iter().filter_map(|output| Some((output.token(), output.cursor()?)))).collect()
    }

    /// Something happened, `now` after some fixed moment. `attempt` is a fresh UUIDv4, for when a new operation begins.
    pub fn on(&mut self, event: Event, now: Duration, attempt: Uuid) -> Vec<Action> {
        match (self.state, event) {
            (State::Over, _) => Vec::new(),
            (State::Connecting, Event::Connected) => {
                self.state = State::Awaiting;
                let Some(pending) = &mut self.pending else { return Vec::new() };
                let text = pending.text.clone();
                vec![Action::Send(text)]
            }
            (State::Connecting, Event::Refused(code)) => self.fail(code, "the server does not take the connection"),
            (State::Connecting, _) => self.connect_again(now),
            (_, Event::Closed(TOO_LARGE)) => self.fail(ErrorCode::ResourceExhausted, "a message was too large"),
            (State::Awaiting, Event::Closed(VIOLATION)) => {
                self.fail(ErrorCode::ProtocolError, "the server cannot read the first message")
            }
            (State::Awaiting, _) => {
                if let Some(pending) = &mut self.pending {
                    pending.in_doubt = true;
                }
                self.connect_again(now)
            }
            (State::Open | State::OpenAgain, Event::Lost | Event::Closed(_)) => self.resume(now, attempt),
            (State::Open | State::OpenAgain, _) => Vec::new(),
        }
    }

    /// The server sent a text message.
    pub fn text(&mut self, text: &[u8], now: Duration, attempt: Uuid) -> Vec<Action> {
        let read = |client: &mut Self| match ServerMessage::decode(text) {
            Ok(message) if client.is_early(&message) => {
                client.keep_early(Frame::Text(text.to_vec()), open::channel(&message))
            }
            Ok(message) => client.message(message, now, attempt),
            Err(undecodable) => Err(undecodable.refusal),
        };
        match self.state {
            State::Connecting | State::Over => Vec::new(),
            State::Awaiting | State::Open | State::OpenAgain => {
                let read = read(self);
                self.and_what_is_due(read)
            }
        }
    }

    /// The server sent a binary message.
    pub fn binary(&mut self, message: &Bytes) -> Vec<Action> {
        match self.state {
            State::Connecting | State::Over => Vec::new(),
            State::Awaiting => self.broken(out_of_turn()),
            State::Open | State::OpenAgain => {
                self.proceed();
                let read = self.output_bytes(message);
                self.and_what_is_due(read)
            }
        }
    }

    fn message(&mut self, message: ServerMessage<'_>, now: Duration, attempt: Uuid) -> Result<Vec<Action>, Refusal> {
        match (self.state, message) {
            (State::Awaiting, ServerMessage::Accepted { attempt, idempotency_key, mappings, session_token }) => {
                self.accepted((attempt, &idempotency_key), mappings, session_token, now)
            }
            (State::Awaiting, ServerMessage::Rejected(rejection)) => Ok(self.rejected(rejection, now, attempt)),
            (State::Awaiting, _) => Err(out_of_turn()),
            (_, ServerMessage::Accepted { .. }) => Err(out_of_turn()),
            (State::OpenAgain, ServerMessage::Revoked) => {
                // The attachment of the message that was sent before has been given up since (R3).
                let mut actions = vec![Action::Disconnect];
                actions.extend(self.resume(now, attempt));
                Ok(actions)
            }
            (_, ServerMessage::Revoked) => Ok(self.over(Delivery::Revoked)),
            (_, ServerMessage::Rejected(Rejection { code, message, retryable, .. })) => {
                if retryable {
                    return Ok(self.resume(now, attempt));
                }
                Ok(self.over(Delivery::Failed(Refusal::new(code, message))))
            }
            (_, ServerMessage::Finished(outcome)) => {
                self.check_finished(&outcome)?;
                Ok(self.over(Delivery::Finished(outcome)))
            }
            (_, message) => {
                self.proceed();
                self.stream_message(message)
            }
        }
    }

    /// The session goes on: more has come than its acceptance.
    fn proceed(&mut self) {
        self.state = State::Open;
        self.backoff.reset();
    }

    /// The server broke a rule (K3).
    fn broken(&mut self, refusal: Refusal) -> Vec<Action> {
        self.over(Delivery::Failed(refusal))
    }

    fn fail(&mut self, code: ErrorCode, text: &'static str) -> Vec<Action> {
        self.over(Delivery::Failed(Refusal::new(code, text)))
    }

    fn over(&mut self, delivery: Delivery) -> Vec<Action> {
        self.state = State::Over;
        self.pending = None;
        vec![Action::Deliver(delivery), Action::Disconnect]
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::OpenAgain)
    }

    /// The application writes an item. `Ok` says that it is kept until it is acknowledged. Streams that it names are inputs
    /// from now on.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write(&mut self, input: InputId, item: Item) -> Result<Vec<Action>, WriteError> {
        let kept: u64 = self.inputs.iter().map(Input::kept).sum();
        let open = self.is_open();
        let shared = self.inputs.iter().filter(|input| input.is_open()).count() > 1;
        let checked = self.inputs[input.0].check(item, (kept, shared))?;
        if checked.inputs.iter().any(|(reference, _)| self.input_named(*reference).is_some()) {
            let used = Refusal::new(ErrorCode::StreamAlreadyConsumed, "a stream is named twice");
            return Err(WriteError::Invalid(used));
        }
        let named = checked.inputs.iter().map(|(reference, element)| Input::new(*reference, element.clone()));
        let named: Vec<_> = named.collect();
        let sent = self.inputs[input.0].write(checked);
        self.inputs.extend(named);
        Ok(if open { sent.into_iter().collect() } else { Vec::new() })
    }

    /// The application has no more items for an input (K6).
    pub fn end(&mut self, input: InputId) -> Vec<Action> {
        let open = self.is_open();
        let sent = self.inputs[input.0].end();
        if open { sent.into_iter().collect() } else { Vec::new() }
    }

    /// The application gives an input up.
    pub fn cancel_input(&mut self, input: InputId, reason: ClientReason) -> Vec<Action> {
        let open = self.is_open();
        let sent = self.inputs[input.0].cancel(reason);
        if open { sent.into_iter().collect() } else { Vec::new() }
    }

    /// The application has no use for an output.
    pub fn cancel_output(&mut self, output: OutputId, reason: ClientReason) -> Vec<Action> {
        let open = self.is_open();
        let sent = self.outputs[output.0].cancel(reason);
        if open { sent.into_iter().collect() } else { Vec::new() }
    }

    /// The application has taken the items of an output up to the one before `through`, or its end (K7, K8).
    pub fn consumed(&mut self, output: OutputId, through: u64, end: bool) {
        self.outputs[output.0].consumed(through, end);
        let mut next = Some(output);
        while let Some(OutputId(at)) = next {
            let ids = 0..self.outputs.len();
            let done: HashSet<OutputId> = match self.outputs[at].has_held() {
                true => ids.filter(|&id| self.outputs[id].is_done()).map(OutputId).collect(),
                false => HashSet::new(),
            };
            self.outputs[at].advance(&done);
            next = self.outputs[at].within().filter(|_| self.outputs[at].is_done());
        }
    }
}

impl PartialEq for Returned {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// A rule was broken.
const VIOLATION: u16 = 1002;
const TOO_LARGE: u16 = 1009;

/// A message that is illegal in the present state.
fn out_of_turn() -> Refusal {
    protocol_error("a message came out of turn")
}

fn protocol_error(text: &'static str) -> Refusal {
    Refusal::new(ErrorCode::ProtocolError, text)
}

#[cfg(test)]
mod tests;
