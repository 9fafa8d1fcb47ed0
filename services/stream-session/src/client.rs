//! A session as its client sees it, across connections (protocol.md section 20): events and commands in, actions out, no
//! I/O and no clock.
//!
//! Whoever drives a [`Client`] connects when told to, hands over what arrives, and performs the actions in their order. The
//! client keeps what is needed to go on: the message that was last sent and not answered, the session token, input that was
//! not acknowledged, and the cursor of each output up to which the application has taken its items.

mod input;
mod open;
mod output;
mod retry;

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::message::{
    Attach, ClientMessage, ClientReason, InvocationOutcome, Operation, OutputOutcome, Rejection, ServerMessage,
    ServerReason,
};
use crate::server::Element;
use crate::value::Value;
use crate::{ErrorCode, Refusal};
use input::Input;
use output::Output;
use retry::Backoff;

pub use input::{Item, WriteError};

/// An input of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InputId(usize);

/// An output of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutputId(usize);

/// A start, frozen: sent again, it is the same text (K1).
#[derive(Clone, Debug)]
pub struct Start {
    /// The attempt that the text names.
    pub attempt: Uuid,
    /// The key that the text names.
    pub idempotency_key: String,
    /// The whole `invocationStart`.
    pub text: String,
    /// The inputs that it introduces, each with the type of its items.
    pub inputs: Vec<(Uuid, Element)>,
}

/// What happens to a client, besides what the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a connection, with the right subprotocol.
    Connected,
    /// There is none; whether it may be tried again: not after a status below 500 other than 429.
    Unreachable {
        /// Whether to try again.
        again: bool,
    },
    /// The connection is gone, or was closed without a last message.
    Lost,
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
    Returned(Option<Value>),
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
    /// The types of streams that values have named and no mapping yet.
    announced: HashMap<String, Element>,
    /// The channels of outputs that no value has named yet: an acceptance maps what is only named by what follows it.
    unnamed: HashMap<String, u32>,
    /// What the method returned, as canonical text: it comes again after a resume.
    returned: Option<String>,
    backoff: Backoff,
}

/// A message that may be sent again.
#[derive(Debug)]
struct Pending {
    attempt: Uuid,
    text: String,
    /// The provisional references that it introduces, if it starts the session.
    start: Option<Vec<Uuid>>,
    /// It was sent before, and may have been accepted.
    in_doubt: bool,
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
    /// A client that starts an invocation.
    #[must_use]
    pub fn start(start: Start) -> (Self, Vec<Action>) {
        let Start { attempt, idempotency_key, text, inputs } = start;
        let references = inputs.iter().map(|(reference, _)| *reference).collect();
        let pending = Pending { attempt, text, start: Some(references), in_doubt: false };
        let inputs = inputs.into_iter().map(|(reference, element)| Input::new(reference, element)).collect();
        let client = Self {
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
            returned: None,
            backoff: Backoff::default(),
        };
        (client, vec![Action::Connect(Duration::ZERO)])
    }

    /// An input that an item is going to introduce under this reference.
    pub fn new_input(&mut self, reference: Uuid, element: Element) -> InputId {
        self.inputs.push(Input::new(reference, element));
        InputId(self.inputs.len() - 1)
    }

    /// The n-th input of the start.
    #[must_use]
    pub fn input(&self, n: usize) -> Option<InputId> {
        (n < self.inputs.len()).then_some(InputId(n))
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

    /// The cursor of each output up to which the application has taken its items, by the token of the output (K7).
    pub fn cursors(&self) -> impl Iterator<Item = (&str, &str)> {
        self.outputs.iter().filter_map(|output| Some((output.token(), output.cursor()?)))
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
            (State::Connecting, Event::Unreachable { again: false }) => {
                self.fail(ErrorCode::AuthenticationFailed, "the server does not take the connection")
            }
            (State::Connecting, _) => self.connect_again(now),
            (State::Awaiting, _) => {
                if let Some(pending) = &mut self.pending {
                    pending.in_doubt = true;
                }
                self.connect_again(now)
            }
            (State::Open | State::OpenAgain, Event::Lost) => self.resume(now, attempt),
            (State::Open | State::OpenAgain, _) => Vec::new(),
        }
    }

    /// The server sent a text message.
    pub fn text(&mut self, text: &[u8], now: Duration, attempt: Uuid) -> Vec<Action> {
        if !matches!(self.state, State::Awaiting | State::Open | State::OpenAgain) {
            return Vec::new();
        }
        match ServerMessage::decode(text) {
            Ok(message) => self.message(message, now, attempt).unwrap_or_else(|refusal| self.broken(refusal)),
            Err(undecodable) => self.broken(undecodable.refusal),
        }
    }

    /// The server sent a binary message.
    pub fn binary(&mut self, message: &Bytes) -> Vec<Action> {
        if !matches!(self.state, State::Open | State::OpenAgain) {
            return Vec::new();
        }
        self.state = State::Open;
        self.output_bytes(message).unwrap_or_else(|refusal| self.broken(refusal))
    }

    fn message(&mut self, message: ServerMessage<'_>, now: Duration, attempt: Uuid) -> Result<Vec<Action>, Refusal> {
        match (self.state, message) {
            (State::Awaiting, ServerMessage::Accepted { attempt, idempotency_key, mappings, session_token }) => {
                self.accepted((attempt, &idempotency_key), mappings, session_token)
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
                self.state = State::Open;
                self.stream_message(message)
            }
        }
    }

    /// A retryable rejection is answered with the same operation under a new attempt, and everything else ends the session
    /// here. What a start introduces has new names then, which only the application can give.
    fn rejected(&mut self, rejection: Rejection, now: Duration, attempt: Uuid) -> Vec<Action> {
        let Rejection { code, message, retryable, .. } = rejection;
        let not_yet_noticed = code == ErrorCode::InvalidAttachmentState && self.session_token.is_some();
        if (retryable || not_yet_noticed) && self.session_token.is_some() {
            return self.resume(now, attempt);
        }
        self.over(Delivery::Failed(Refusal::new(code, message)))
    }

    /// Freezes a resume with what the client knows now, and connects.
    fn resume(&mut self, now: Duration, attempt: Uuid) -> Vec<Action> {
        let Some(session_token) = self.session_token.clone() else { return self.connect_again(now) };
        let cursors = self.outputs.iter().filter_map(|output| output.cursor().map(str::to_owned)).collect();
        let attach = Attach { attempt, operation: Operation::Resume, session_token, output_cursors: cursors };
        let text = ClientMessage::Attach(attach).encode();
        self.pending = Some(Pending { attempt, text, start: None, in_doubt: false });
        self.connect_again(now)
    }

    fn connect_again(&mut self, now: Duration) -> Vec<Action> {
        self.state = State::Connecting;
        self.by_channel.clear();
        self.unnamed.clear();
        match self.backoff.next(now) {
            Some(pause) => vec![Action::Connect(pause)],
            None => self.fail(ErrorCode::InternalError, "the server could not be reached for five minutes"),
        }
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

    /// The application writes an item. `Ok` says that it is kept until it is acknowledged.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write(&mut self, input: InputId, item: Item) -> Result<Vec<Action>, WriteError> {
        let kept: u64 = self.inputs.iter().map(Input::kept).sum();
        let open = self.is_open();
        self.inputs[input.0].write(item, kept).map(|sent| if open { sent.into_iter().collect() } else { Vec::new() })
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
    }
}

/// A message that is illegal in the present state.
fn out_of_turn() -> Refusal {
    protocol_error("a message came out of turn")
}

fn protocol_error(text: &'static str) -> Refusal {
    Refusal::new(ErrorCode::ProtocolError, text)
}

#[cfg(test)]
mod tests;
