//! One connection as its server sees it (protocol.md sections 8 to 16): events in, actions out, no I/O.
//!
//! Whoever drives a [`Connection`] evaluates first messages, makes things durable and tells the outcome, and performs the
//! actions in their order. The connection knows the rules: what a client may say when, what it is answered, and in which
//! state the connection is afterwards.

mod input;
mod open;
mod output;
mod vocabulary;

use bytes::Bytes;
use uuid::Uuid;

use crate::message::{ClientMessage, InvocationOutcome, Rejection, ServerMessage, ServerReason};
use crate::{ErrorCode, Refusal};
use open::Open;
pub use vocabulary::{
    Acceptance, Action, Cut, Element, Event, InputItem, InputTerminal, MethodValue, NestedInput, OutputItem, Stream,
    StreamWay,
};

/// A connection, from its first message to its close.
#[derive(Debug)]
pub struct Connection {
    state: State,
    /// The number of the next stream.
    next_channel: u32,
    refused: Option<ErrorCode>,
}

#[derive(Debug)]
enum State {
    AwaitFirst,
    /// The first message is being evaluated.
    Evaluating {
        attempt: Uuid,
    },
    /// It is to be closed with this code once its first message was evaluated. What that asked for may yet be accepted, and
    /// must then be given up.
    Abandoned(u16),
    Open(Box<Open>),
    /// To be closed with this code once the session is detached.
    Detaching(u16),
    Closed,
}

/// The close codes (section 17).
mod close {
    pub(super) const NORMAL: u16 = 1000;
    pub(super) const GOING_AWAY: u16 = 1001;
    pub(super) const PROTOCOL: u16 = 1002;
    pub(super) const TOO_LARGE: u16 = 1009;
    pub(super) const INTERNAL: u16 = 1011;
}

impl Connection {
    /// A connection whose streams are numbered from `first_channel` on: a random number of at least 1 with room above it
    /// for all streams of a session (C1).
    #[must_use]
    pub fn new(first_channel: u32) -> Self {
        Self { state: State::AwaitFirst, next_channel: first_channel, refused: None }
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// The code of the rejection that was sent, if one was.
    #[must_use]
    pub fn refused(&self) -> Option<ErrorCode> {
        self.refused
    }

    /// The client sent a text message.
    pub fn text<'t>(&mut self, text: &'t [u8]) -> Vec<Action<'t>> {
        match &mut self.state {
            State::AwaitFirst => self.first(text),
            State::Evaluating { .. } => self.abandon(),
            State::Open(open) => match ClientMessage::decode(text).map_err(|undecodable| undecodable.refusal) {
                Ok(message) => match open.message(message) {
                    Ok(actions) => actions,
                    Err(refusal) => self.violation(&refusal),
                },
                Err(refusal) => self.violation(&refusal),
            },
            State::Abandoned(_) | State::Detaching(_) | State::Closed => Vec::new(),
        }
    }

    /// The client sent a binary message.
    pub fn binary(&mut self, message: &Bytes) -> Vec<Action<'static>> {
        match &mut self.state {
            State::AwaitFirst => self.close(close::PROTOCOL),
            State::Evaluating { .. } => self.abandon(),
            State::Open(open) => match open.binary(message) {
                Ok(actions) => actions,
                Err(refusal) => self.violation(&refusal),
            },
            State::Abandoned(_) | State::Detaching(_) | State::Closed => Vec::new(),
        }
    }

    /// Something else happened.
    pub fn on(&mut self, event: Event) -> Vec<Action<'static>> {
        match (&mut self.state, event) {
            (State::Closed, _) => Vec::new(),
            (State::Detaching(code), Event::Detached) => {
                let code = *code;
                self.close(code)
            }
            (State::Detaching(_), _) => Vec::new(),
            (State::Evaluating { .. }, Event::Accepted(acceptance)) => self.open(acceptance),
            (State::Evaluating { attempt }, Event::Refused(refusal, retryable)) => {
                let attempt = *attempt;
                self.refuse(Some(attempt), refusal, retryable)
            }
            (State::Abandoned(code), Event::Accepted(_)) => {
                let code = *code;
                self.detach(code)
            }
            (State::Abandoned(code), Event::Refused(..)) => {
                let code = *code;
                self.close(code)
            }
            (State::Open(_), Event::Replaced) => self.last(&ServerMessage::Revoked),
            (State::Open(_), Event::Finished(outcome)) => self.finish(outcome),
            (State::Open(open), Event::Deleted(outcome)) => {
                let mut actions = open.drop_inputs(ServerReason::ProducerDeleted);
                actions.extend(self.finish(outcome));
                actions
            }
            (State::Open(_), Event::Contradiction(refusal)) => self.violation(&refusal),
            (_, Event::Lost) => self.give_up(close::NORMAL),
            (_, Event::Draining) => self.give_up(close::GOING_AWAY),
            (_, Event::Cut(cut)) => self.give_up(cut.close_code()),
            (State::Open(open), event) => open.on(event, &mut self.next_channel),
            _ => Vec::new(),
        }
    }

    /// Closes with this code, once what the connection has is detached, or what it may come to have.
    fn give_up(&mut self, code: u16) -> Vec<Action<'static>> {
        match self.state {
            State::AwaitFirst => self.close(code),
            State::Evaluating { .. } => {
                self.state = State::Abandoned(code);
                Vec::new()
            }
            State::Open(_) => self.detach(code),
            State::Abandoned(_) | State::Detaching(_) | State::Closed => Vec::new(),
        }
    }

    fn first<'t>(&mut self, text: &'t [u8]) -> Vec<Action<'t>> {
        let (attempt, action) = match ClientMessage::decode(text) {
            Ok(ClientMessage::Start(start)) => (start.attempt, Action::Start(Box::new(start))),
            Ok(ClientMessage::Attach(attach)) => (attach.attempt, Action::Attach(attach)),
            Ok(_) => {
                let refusal = Refusal::new(ErrorCode::ProtocolError, "the first message starts or attaches");
                return self.reject(None, &refusal);
            }
            Err(undecodable) => return self.reject(undecodable.attempt, &undecodable.refusal),
        };
        self.state = State::Evaluating { attempt };
        vec![action]
    }

    /// The client did not wait for the answer to its first message.
    fn abandon(&mut self) -> Vec<Action<'static>> {
        let State::Evaluating { attempt } = self.state else { return Vec::new() };
        self.state = State::Abandoned(close::PROTOCOL);
        let refusal =
            Refusal::new(ErrorCode::ProtocolError, "nothing may be sent before the first message is answered");
        vec![self.rejection(Some(attempt), refusal, false)]
    }

    fn open(&mut self, acceptance: Acceptance) -> Vec<Action<'static>> {
        let Acceptance { attempt, idempotency_key, session_token, streams } = acceptance;
        let mut open = Open::new(attempt);
        let mappings = open.install(streams, &mut self.next_channel);
        self.state = State::Open(Box::new(open));
        let accepted = ServerMessage::Accepted { attempt, idempotency_key, mappings, session_token };
        vec![Action::Send(accepted.encode())]
    }

    /// A first message that cannot be evaluated (W2).
    fn reject(&mut self, attempt: Option<Uuid>, refusal: &Refusal) -> Vec<Action<'static>> {
        self.state = State::Closed;
        vec![self.rejection(attempt, refusal.clone(), false), Action::Close(close::PROTOCOL)]
    }

    /// A first message that was evaluated (W2).
    fn refuse(&mut self, attempt: Option<Uuid>, refusal: Refusal, retryable: bool) -> Vec<Action<'static>> {
        self.state = State::Closed;
        let internal = refusal.code == ErrorCode::InternalError;
        let code = if internal { close::INTERNAL } else { close::NORMAL };
        vec![self.rejection(attempt, refusal, retryable), Action::Close(code)]
    }

    /// The client broke a rule after it was accepted (W1).
    fn violation(&mut self, refusal: &Refusal) -> Vec<Action<'static>> {
        let attempt = match &self.state {
            State::Open(open) => Some(open.attempt()),
            _ => None,
        };
        let mut actions = vec![self.rejection(attempt, refusal.clone(), false)];
        actions.extend(self.detach(close::PROTOCOL));
        actions
    }

    /// Everything is told. The session stays, for whoever attaches to it next (A8).
    fn finish(&mut self, outcome: InvocationOutcome) -> Vec<Action<'static>> {
        let mut actions = vec![Action::Send(ServerMessage::Finished(outcome).encode())];
        actions.extend(self.detach(close::NORMAL));
        actions
    }

    /// The last message of a connection whose session is another's.
    fn last(&mut self, message: &ServerMessage<'_>) -> Vec<Action<'static>> {
        self.state = State::Closed;
        vec![Action::Send(message.encode()), Action::Close(close::NORMAL)]
    }

    fn rejection(&mut self, attempt: Option<Uuid>, refusal: Refusal, retryable: bool) -> Action<'static> {
        let Refusal { code, text } = refusal;
        self.refused = Some(code);
        Action::Send(
            ServerMessage::Rejected(Rejection { attempt, code, message: text.into_owned(), retryable }).encode(),
        )
    }

    fn detach(&mut self, code: u16) -> Vec<Action<'static>> {
        self.state = State::Detaching(code);
        vec![Action::Detach]
    }

    fn close(&mut self, code: u16) -> Vec<Action<'static>> {
        self.state = State::Closed;
        vec![Action::Close(code)]
    }
}

impl Cut {
    fn close_code(self) -> u16 {
        match self {
            Self::TooLarge => close::TOO_LARGE,
            Self::Protocol => close::PROTOCOL,
            Self::Failed => close::INTERNAL,
        }
    }
}

#[cfg(test)]
mod tests;
