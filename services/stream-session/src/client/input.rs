//! An input on the client's side: what was written and is not acknowledged is kept (K4, K5, K6).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;
use uuid::Uuid;

use super::Action;
use crate::binary::{BinaryItems, BinaryMessage};
use crate::graph::{Lane, Type};
use crate::json::Json;
use crate::message::{ClientMessage, ClientReason, Node};
use crate::server::Element;
use crate::value::{StreamPolicy, StreamRef, Value};
use crate::{Refusal, limits};

/// Entries that are kept for one input: their charge may be next to nothing.
const KEPT_ENTRIES: usize = 4096;

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
    /// Too much is not acknowledged yet, or the input goes on from where another process left it, which the server has not
    /// told yet: wait for its messages.
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
    /// What a value named it, unless that was in another process.
    reference: Option<Uuid>,
    element: Element,
    /// The server has told how far it is, or it begins here.
    placed: bool,
    /// The server has mapped it.
    mapped: bool,
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
    /// The inputs that it names and that are not mapped yet: it is sent again for their sake (I10).
    names: Vec<Uuid>,
}

/// An item that may be written.
pub(super) struct Checked {
    item: Item,
    charge: u64,
    /// The inputs that it names.
    pub(super) inputs: Vec<(Uuid, Element)>,
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
        Self { reference: Some(reference), placed: true, ..Self::left(element) }
    }

    /// An input that another process has begun.
    pub(super) fn left(element: Element) -> Self {
        Self {
            reference: None,
            element,
            placed: false,
            mapped: false,
            channel: None,
            next: 0,
            kept: VecDeque::new(),
            kept_charge: 0,
            closing: Closing::Open,
        }
    }

    pub(super) fn reference(&self) -> Option<Uuid> {
        self.reference
    }

    /// It was never sent, and goes by another name.
    pub(super) fn rename(&mut self, reference: Uuid) {
        self.reference = Some(reference);
    }

    pub(super) fn element(&self) -> &Element {
        &self.element
    }

    /// How many items were written, once it is known where it began.
    pub(super) fn position(&self) -> Option<u64> {
        self.placed.then_some(self.next)
    }

    /// Whether a mapping that names nothing may be its own.
    pub(super) fn is_left(&self) -> bool {
        self.reference.is_none() && !self.mapped
    }

    /// What the kept items cost.
    pub(super) fn kept(&self) -> u64 {
        self.kept_charge
    }

    /// Whether more may be written on it.
    pub(super) fn is_open(&self) -> bool {
        self.closing == Closing::Open
    }

    /// Whether an item may be written. `kept` is what all inputs keep. One of several that are `shared` leaves as much room as it
    /// takes: the agent may read the others first.
    pub(super) fn check(&self, item: Item, (kept, shared): (u64, bool)) -> Result<Checked, WriteError> {
        if self.closing != Closing::Open {
            return Err(WriteError::Closed);
        }
        let checked = self.validate(item)?;
        let room = limits::VALUE_CHARGE.saturating_sub(kept);
        let leaves_room = !shared || self.kept.is_empty() || self.kept_charge + checked.charge <= room;
        let fits = kept == 0 || checked.charge <= room && leaves_room;
        if !fits || self.kept.len() >= KEPT_ENTRIES || !self.placed {
            return Err(WriteError::Full);
        }
        Ok(checked)
    }

    /// Keeps an item and says how to send it.
    pub(super) fn write(&mut self, checked: Checked) -> Option<Action> {
        let Checked { item, charge, inputs } = checked;
        let sequence = self.next;
        self.next += count(&item);
        let sent = self.channel.map(|channel| message(channel, sequence, &item));
        self.kept_charge += charge;
        let names = inputs.into_iter().map(|(reference, _)| reference).collect();
        self.kept.push_back(Kept { sequence, item, charge, names });
        sent
    }

    /// Does what the server does with it (K14).
    fn validate(&self, item: Item) -> Result<Checked, Refusal> {
        let Element { graph, of, lane } = &self.element;
        let value = match &item {
            Item::Value(value) if *lane == Lane::Json => value,
            Item::Value(_) => return Err(Refusal::invalid("items of this stream are bytes")),
            Item::Binary(items) => {
                items.check(graph, of)?;
                let charge = items.charge()?;
                return Ok(Checked { item, charge, inputs: Vec::new() });
            }
        };
        let text = ClientMessage::Item { channel: u32::MAX, sequence: u64::MAX, value: Node::Value(value) }.encode();
        if text.len() > limits::MESSAGE_BYTES {
            return Err(Refusal::exhausted("an item is too large for a message"));
        }
        let message = Json::parse(text.as_bytes())?;
        let node = message.as_object().and_then(|message| message.get("value")).unwrap_or(&Json::Null);
        let decoded = Value::read(graph, of, StreamPolicy::Provisional, node)?;
        let element = |of: &Type| Element::new(Arc::clone(graph), of.clone());
        let inputs = decoded.streams.iter().filter_map(|(reference, of)| match reference {
            StreamRef::Provisional(reference) => Some((*reference, element(of))),
            StreamRef::Stable(_) => None,
        });
        let inputs = inputs.collect();
        Ok(Checked { item, charge: decoded.charge, inputs })
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
        self.mapped = true;
        if !std::mem::replace(&mut self.placed, true) {
            self.next = high_water;
        }
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

    /// The inputs that the first of its items names: items are acknowledged in their order.
    pub(super) fn first_names(&self) -> Option<&[Uuid]> {
        self.kept.front().map(|kept| kept.names.as_slice()).filter(|names| !names.is_empty())
    }

    /// These mappings have come.
    pub(super) fn named(&mut self, mapped: &[Uuid]) {
        self.kept.iter_mut().take(1).for_each(|kept| kept.names.retain(|name| !mapped.contains(name)));
    }

    /// Whether it is on the present connection.
    pub(super) fn is_attached(&self) -> bool {
        self.channel.is_some()
    }

    /// Whether the server has mapped it.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped
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
        let charge = &mut self.kept_charge;
        self.kept.retain_mut(|kept| {
            let covered = through.saturating_sub(kept.sequence);
            if covered >= count(&kept.item) {
                // What it names can be learnt only from the answer to it.
                let stays = !kept.names.is_empty();
                *charge -= if stays { 0 } else { kept.charge };
                return stays;
            }
            if let (Item::Binary(BinaryItems::Packed(bytes)), 1..) = (&mut kept.item, covered) {
                let cut = usize::try_from(covered).unwrap_or(usize::MAX).min(bytes.len());
                *bytes = bytes.slice(cut..);
                kept.sequence = through;
                kept.charge -= 2 * covered;
                *charge -= 2 * covered;
            }
            true
        });
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
