//! One input on one connection (protocol.md sections 10 and 13).

use uuid::Uuid;

use super::{Element, InputItem, InputTerminal, NestedInput};
use crate::binary::BinaryItems;
use crate::graph::{Lane, Type};
use crate::message::Node;
use crate::value::{StreamPolicy, StreamRef, Value};
use crate::{ErrorCode, Refusal};

/// An input as far as this connection has come.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) stream: Uuid,
    element: Element,
    /// How many items were accepted, those included that are not yet durable.
    next: u64,
    state: InputState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputState {
    Open,
    /// The client has ended it, after so many items.
    Ended {
        count: u64,
        durable: bool,
    },
    CancelledByClient,
    /// The client does not know yet, and goes on as if it were open: what it sends next has this sequence (I8).
    Dropped {
        expected: u64,
    },
    /// It was dropped, and the client's own end or cancel has come.
    DroppedAndClosed,
}

/// What becomes of an item that a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the next one.
    Store,
    /// It was sent before, if it is the same.
    Compare,
    /// Nobody needs it.
    Drop,
}

/// What becomes of an end or a cancel that a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is made durable, unless it is already, and acknowledged, again if need be.
    Store,
    /// Nobody needs it.
    Ignore,
}

impl Input {
    pub(super) fn new(stream: Uuid, element: Element, high_water: u64, terminal: Option<InputTerminal>) -> Self {
        let state = match terminal {
            None => InputState::Open,
            Some(InputTerminal::Ended) => InputState::Ended { count: high_water, durable: true },
            Some(InputTerminal::CancelledByClient) => InputState::CancelledByClient,
            Some(InputTerminal::CancelledByServer) => InputState::Dropped { expected: high_water },
        };
        Self { stream, element, next: high_water, state }
    }

    /// Whether it has ended, durably.
    pub(super) fn is_terminal(&self) -> bool {
        !matches!(self.state, InputState::Open | InputState::Ended { durable: false, .. })
    }

    /// Its end is durable. Returns how many items it had, if it was ended and not cancelled.
    pub(super) fn end_stored(&mut self) -> Option<u64> {
        match &mut self.state {
            InputState::Ended { count, durable } => {
                *durable = true;
                Some(*count)
            }
            _ => None,
        }
    }

    /// Decides about `count` items from `sequence` on (I3).
    pub(super) fn items(&mut self, sequence: u64, count: u64) -> Result<Verdict, Refusal> {
        let through = sequence.checked_add(count).ok_or_else(overflow)?;
        match &mut self.state {
            InputState::Ended { .. } | InputState::CancelledByClient | InputState::DroppedAndClosed => {
                Err(Refusal::new(ErrorCode::ProtocolError, "an item follows the end of its stream"))
            }
            InputState::Dropped { expected } if sequence > *expected => Err(gap()),
            InputState::Dropped { expected } => {
                *expected = through.max(*expected);
                Ok(Verdict::Drop)
            }
            InputState::Open if sequence > self.next => Err(gap()),
            InputState::Open if sequence == self.next => {
                self.next = through;
                Ok(Verdict::Store)
            }
            InputState::Open if through <= self.next => Ok(Verdict::Compare),
            InputState::Open => Err(conflict()),
        }
    }

    /// Decides about an end after `sequence` items (I6).
    pub(super) fn end(&mut self, sequence: u64) -> Result<Ending, Refusal> {
        match self.state {
            InputState::Open if sequence > self.next => Err(gap()),
            InputState::Open if sequence < self.next => Err(conflict()),
            InputState::Open => {
                self.state = InputState::Ended { count: sequence, durable: false };
                Ok(Ending::Store)
            }
            InputState::Ended { count, .. } if count == sequence => Ok(Ending::Store),
            InputState::Ended { .. } => Err(conflict()),
            InputState::Dropped { .. } => {
                self.state = InputState::DroppedAndClosed;
                Ok(Ending::Ignore)
            }
            InputState::CancelledByClient | InputState::DroppedAndClosed => {
                Err(Refusal::new(ErrorCode::ProtocolError, "an end follows the end of its stream"))
            }
        }
    }

    /// Decides about a cancel (Q1, Q2).
    pub(super) fn cancel(&mut self) -> Result<Ending, Refusal> {
        match self.state {
            InputState::Open => {
                self.state = InputState::CancelledByClient;
                Ok(Ending::Store)
            }
            InputState::Dropped { .. } => {
                self.state = InputState::DroppedAndClosed;
                Ok(Ending::Ignore)
            }
            InputState::Ended { .. } | InputState::CancelledByClient | InputState::DroppedAndClosed => {
                Err(Refusal::new(ErrorCode::InvalidChannel, "the stream has ended"))
            }
        }
    }

    /// The agent has no use for it any more. Whether the client is to be told.
    pub(super) fn drop_by_server(&mut self) -> bool {
        self.state = match self.state {
            InputState::Open => InputState::Dropped { expected: self.next },
            // The end came too late to be accepted, but it came.
            InputState::Ended { durable: false, .. } => InputState::DroppedAndClosed,
            InputState::Ended { durable: true, .. }
            | InputState::CancelledByClient
            | InputState::Dropped { .. }
            | InputState::DroppedAndClosed => return false,
        };
        true
    }

    /// Reads an item that came as text.
    pub(super) fn read(&self, node: &Node<'_>) -> Result<InputItem, Refusal> {
        let Element { graph, of, .. } = &self.element;
        let Node::Json(node) = node else { return Err(Refusal::malformed("an item was not read")) };
        let decoded = Value::read(graph, of, StreamPolicy::Provisional, node)?;
        let nested = |(reference, element): (StreamRef, &Type)| match reference {
            StreamRef::Provisional(provisional) => Some(NestedInput { provisional, element: element.clone() }),
            StreamRef::Stable(_) => None,
        };
        let streams = decoded.streams.into_iter().filter_map(nested).collect();
        Ok(InputItem::Value(decoded.value, streams))
    }

    /// Holds items that came as bytes against their type.
    pub(super) fn check(&self, items: &BinaryItems) -> Result<(), Refusal> {
        let Element { graph, of, .. } = &self.element;
        items.check(graph, of)?;
        items.charge().map(drop)
    }

    /// Whether items of this lane may come.
    pub(super) fn check_lane(&self, lane: Lane) -> Result<(), Refusal> {
        match self.element.lane == lane {
            true => Ok(()),
            false => Err(Refusal::new(ErrorCode::InvalidChannel, "items of this stream travel otherwise")),
        }
    }
}

fn gap() -> Refusal {
    Refusal::new(ErrorCode::InputGap, "input starts after the next expected sequence")
}

fn conflict() -> Refusal {
    Refusal::new(ErrorCode::InputConflict, "input differs from what was accepted")
}

fn overflow() -> Refusal {
    Refusal::new(ErrorCode::InvalidSequence, "a sequence goes beyond 64 bits")
}
