//! An input on the client's side: what was written and is not acknowledged is kept (K4, K5, K6).

use std::collections::VecDeque;

use bytes::Bytes;
use thiserror::Error;
use uuid::Uuid;

use super::Action;
use crate::binary::{BinaryItems, BinaryMessage};
use crate::graph::Lane;
use crate::message::{ClientMessage, ClientReason, Node};
use crate::server::Element;
use crate::value::Value;
use crate::{Refusal, limits};

/// An item, or several bytes that are items each.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A value.
    Value(Value),
    /// Bytes.
    Binary(BinaryItems),
}

/// Why an item cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// Too much is not acknowledged yet: wait for acknowledgements.
    #[error("too much input is not acknowledged yet")]
    Full,
    /// The input was ended or cancelled, here or by the agent.
    #[error("the input takes no more items")]
    Closed,
    /// The item is not of the input's type.
    #[error(transparent)]
    Invalid(#[from] Refusal),
}

#[derive(Debug)]
pub(super) struct Input {
    reference: Uuid,
    element: Element,
    /// On the present connection.
    channel: Option<u32>,
    /// How many items were written.
    next: u64,
    kept: VecDeque<Kept>,
    kept_charge: u64,
    closing: Closing,
}

/// Items that were written and are not acknowledged.
#[derive(Debug)]
struct Kept {
    sequence: u64,
    item: Item,
    charge: u64,
}

/// How far an input is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    Open,
    /// Ended here, and not acknowledged.
    Ended,
    /// Cancelled here, and not confirmed.
    Cancelled(ClientReason),
    /// Over for the server, too.
    Closed,
}

impl Input {
    pub(super) fn new(reference: Uuid, element: Element) -> Self {
        let (kept, closing) = (VecDeque::new(), Closing::Open);
        Self { reference, element, channel: None, next: 0, kept, kept_charge: 0, closing }
    }

    pub(super) fn reference(&self) -> Uuid {
        self.reference
    }

    /// What the kept items cost.
    pub(super) fn kept(&self) -> u64 {
        self.kept_charge
    }

    /// Keeps an item and says how to send it. `kept` is what all inputs keep.
    pub(super) fn write(&mut self, item: Item, kept: u64) -> Result<Option<Action>, WriteError> {
        if self.closing != Closing::Open {
            return Err(WriteError::Closed);
        }
        let charge = self.check(&item)?;
        if kept > 0 && kept + charge > limits::VALUE_CHARGE {
            return Err(WriteError::Full);
        }
        let sequence = self.next;
        self.next += count(&item);
        let sent = self.channel.map(|channel| message(channel, sequence, &item));
        self.kept_charge += charge;
        self.kept.push_back(Kept { sequence, item, charge });
        Ok(sent)
    }

    /// Validates as the server does (K14), and tells the charge.
    fn check(&self, item: &Item) -> Result<u64, Refusal> {
        let Element { graph, of, lane } = &self.element;
        match item {
            Item::Value(value) if *lane == Lane::Json => {
                graph.restrict(of, value)?;
                value.charge()
            }
            Item::Value(_) => Err(Refusal::invalid("items of this stream are bytes")),
            Item::Binary(items) => {
                items.check(graph, of)?;
                items.charge()
            }
        }
    }

    pub(super) fn end(&mut self) -> Option<Action> {
        if self.closing != Closing::Open {
            return None;
        }
        self.closing = Closing::Ended;
        self.channel.map(|channel| self.end_message(channel))
    }

    pub(super) fn cancel(&mut self, reason: ClientReason) -> Option<Action> {
        if self.closing != Closing::Open {
            return None;
        }
        self.closing = Closing::Cancelled(reason);
        self.forget();
        self.channel.map(|channel| cancel_message(channel, reason))
    }

    /// It is on this channel now; so many items are durable. Says what to send again (K4).
    pub(super) fn attach(&mut self, channel: u32, high_water: u64, terminal: bool) -> Vec<Action> {
        self.channel = Some(channel);
        if terminal {
            self.close();
            return Vec::new();
        }
        self.acknowledged(high_water);
        let mut again: Vec<_> = self.kept.iter().map(|kept| message(channel, kept.sequence, &kept.item)).collect();
        again.extend(match self.closing {
            Closing::Ended => Some(self.end_message(channel)),
            Closing::Cancelled(reason) => Some(cancel_message(channel, reason)),
            Closing::Open | Closing::Closed => None,
        });
        again
    }

    /// The connection is gone.
    pub(super) fn detach(&mut self) {
        self.channel = None;
    }

    /// The server acknowledges. `false` if it says more than was sent (K3).
    pub(super) fn acknowledge(&mut self, through: u64, terminal: bool) -> bool {
        if through > self.next {
            return false;
        }
        self.acknowledged(through);
        if terminal {
            self.close();
        }
        true
    }

    /// Forgets items below `through`. Packed bytes that are covered in part are cut.
    fn acknowledged(&mut self, through: u64) {
        while let Some(kept) = self.kept.front_mut() {
            let covered = through.saturating_sub(kept.sequence);
            if covered >= count(&kept.item) {
                self.kept_charge -= kept.charge;
                self.kept.pop_front();
                continue;
            }
            if let (Item::Binary(BinaryItems::Packed(bytes)), 1..) = (&mut kept.item, covered) {
                let rest = bytes.slice(usize::try_from(covered).unwrap_or(usize::MAX).min(bytes.len())..);
                self.kept_charge -= 2 * covered;
                kept.charge -= 2 * covered;
                kept.sequence = through;
                *bytes = rest;
            }
            break;
        }
    }

    /// Nothing more is to be sent.
    pub(super) fn close(&mut self) {
        self.closing = Closing::Closed;
        self.forget();
    }

    fn forget(&mut self) {
        self.kept.clear();
        self.kept_charge = 0;
    }

    fn end_message(&self, channel: u32) -> Action {
        Action::Send(ClientMessage::End { channel, sequence: self.next }.encode())
    }
}

fn cancel_message(channel: u32, reason: ClientReason) -> Action {
    Action::Send(ClientMessage::Cancel { channel, reason }.encode())
}

fn message(channel: u32, sequence: u64, item: &Item) -> Action {
    match item {
        Item::Value(value) => {
            Action::Send(ClientMessage::Item { channel, sequence, value: Node::Value(value) }.encode())
        }
        Item::Binary(items) => {
            let message = BinaryMessage { channel, sequence, items: items.clone(), cursor: None };
            let payload: Bytes = items.payload().clone();
            Action::SendBinary(message.encode_head(), payload)
        }
    }
}

pub(super) fn count(item: &Item) -> u64 {
    match item {
        Item::Value(_) => 1,
        Item::Binary(items) => items.count(),
    }
}
