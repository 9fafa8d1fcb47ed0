//! An output on the client's side (K7, K8, K9).

use std::collections::VecDeque;

use super::input::count;
use super::{Action, Item, protocol_error};
use crate::Refusal;
use crate::binary::BinaryItems;
use crate::message::{ClientMessage, ClientReason};
use crate::server::Element;

#[derive(Debug)]
pub(super) struct Output {
    token: String,
    element: Element,
    /// On the present connection.
    channel: Option<u32>,
    /// The sequence that follows what was delivered.
    next: u64,
    /// How far the application has come.
    cursor: Option<String>,
    /// Cursors of what was delivered, each with the sequence that follows it.
    delivered: VecDeque<(u64, String)>,
    /// The cursor of its end, once that was delivered.
    end_cursor: Option<String>,
    ended: bool,
    cancelled: Option<ClientReason>,
}

impl Output {
    pub(super) fn new(token: String, element: Element) -> Self {
        Self {
            token,
            element,
            channel: None,
            next: 0,
            cursor: None,
            delivered: VecDeque::new(),
            end_cursor: None,
            ended: false,
            cancelled: None,
        }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn element(&self) -> &Element {
        &self.element
    }

    pub(super) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// It is on this channel now. Says what to send again (Q9).
    pub(super) fn attach(&mut self, channel: u32) -> Option<Action> {
        self.channel = Some(channel);
        self.cancelled.filter(|_| !self.ended).map(|reason| cancel_message(channel, reason))
    }

    /// The connection is gone.
    pub(super) fn detach(&mut self) {
        self.channel = None;
    }

    pub(super) fn cancel(&mut self, reason: ClientReason) -> Option<Action> {
        if self.ended || self.cancelled.replace(reason).is_some() {
            return None;
        }
        self.channel.map(|channel| cancel_message(channel, reason))
    }

    /// Items that arrived, without those that were delivered before. `None` if nothing is left.
    pub(super) fn arrived(
        &mut self,
        sequence: u64,
        item: Item,
        cursor: String,
    ) -> Result<Option<(u64, Item)>, Refusal> {
        if self.ended {
            return Err(protocol_error("an item follows the end of its stream"));
        }
        let count = count(&item);
        let known = self.next.checked_sub(sequence).ok_or_else(|| protocol_error("an item is missing"))?;
        let through = sequence.checked_add(count).ok_or_else(|| protocol_error("a sequence goes beyond 64 bits"))?;
        self.note(through, cursor);
        if known >= count {
            return Ok(None);
        }
        self.next = through;
        Ok(Some((sequence + known, rest(item, known))))
    }

    /// Remembers the cursor of what was delivered; signed anew after a resume, it stands for the same.
    fn note(&mut self, through: u64, cursor: String) {
        match self.delivered.iter().position(|(known, _)| *known >= through) {
            Some(at) if self.delivered[at].0 == through => self.delivered[at].1 = cursor,
            Some(at) => self.delivered.insert(at, (through, cursor)),
            None => self.delivered.push_back((through, cursor)),
        }
    }

    /// Its end arrived. Whether for the first time.
    pub(super) fn end(&mut self, sequence: u64, cursor: Option<String>) -> Result<bool, Refusal> {
        if sequence > self.next && self.cancelled.is_none() {
            return Err(protocol_error("a stream ends after items that did not come"));
        }
        self.end_cursor = cursor;
        Ok(!std::mem::replace(&mut self.ended, true))
    }

    pub(super) fn consumed(&mut self, through: u64, end: bool) {
        while let Some((_, cursor)) = self.delivered.pop_front_if(|(delivered, _)| *delivered <= through) {
            self.cursor = Some(cursor);
        }
        if end && let Some(cursor) = self.end_cursor.take() {
            self.cursor = Some(cursor);
        }
    }
}

/// An item without its first `known` bytes.
fn rest(item: Item, known: u64) -> Item {
    match item {
        Item::Binary(BinaryItems::Packed(bytes)) => {
            let known = usize::try_from(known).unwrap_or(usize::MAX).min(bytes.len());
            Item::Binary(BinaryItems::Packed(bytes.slice(known..)))
        }
        whole => whole,
    }
}

fn cancel_message(channel: u32, reason: ClientReason) -> Action {
    Action::Send(ClientMessage::Cancel { channel, reason }.encode())
}
