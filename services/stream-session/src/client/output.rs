//! An output on the client's side (K7, K8, K9).

use std::collections::{HashSet, VecDeque};

use super::input::count;
use super::{Action, Item, Named, OutputId, protocol_error};
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
    /// The output that has the item which names this one.
    within: Option<OutputId>,
    /// The sequence that follows what was delivered. Not known where another process has left it until something comes.
    next: Option<u64>,
    /// How far the application has come.
    cursor: Option<String>,
    /// The sequence that follows the item of that cursor, as far as that was delivered here.
    cursor_at: u64,
    /// What was delivered since.
    delivered: VecDeque<Delivered>,
    /// The application has taken everything before this.
    taken: u64,
    /// The cursor of its end, once that was delivered.
    end_cursor: Option<String>,
    ended: bool,
    end_taken: bool,
    cancelled: Option<ClientReason>,
}

#[derive(Debug)]
struct Delivered {
    /// The sequence that follows it.
    through: u64,
    cursor: String,
    /// The outputs that it names.
    names: Vec<OutputId>,
}

impl Output {
    /// `left` is the cursor at which another process has left it.
    pub(super) fn new(token: String, named: Named, left: Option<String>) -> Self {
        let Named { element, within } = named;
        Self {
            token,
            element,
            channel: None,
            within,
            next: if left.is_some() { None } else { Some(0) },
            cursor: left,
            cursor_at: 0,
            delivered: VecDeque::new(),
            taken: 0,
            end_cursor: None,
            ended: false,
            end_taken: false,
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

    /// Whether its end has come, or may have come where another process has left it.
    pub(super) fn has_ended(&self) -> bool {
        self.ended || self.next.is_none()
    }

    pub(super) fn within(&self) -> Option<OutputId> {
        self.within
    }

    /// Whether the application has taken all of it, and of the outputs that it names.
    pub(super) fn is_done(&self) -> bool {
        self.end_taken && self.delivered.is_empty()
    }

    /// Whether something that was delivered names outputs.
    pub(super) fn has_held(&self) -> bool {
        self.delivered.iter().any(|delivered| !delivered.names.is_empty())
    }

    /// Whether it is on the present connection.
    pub(super) fn is_attached(&self) -> bool {
        self.channel.is_some()
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
        (cursor, names): (String, Vec<OutputId>),
    ) -> Result<Option<(u64, Item)>, Refusal> {
        if self.ended {
            return Err(protocol_error("an item follows the end of its stream"));
        }
        let count = count(&item);
        let next = self.next.unwrap_or(sequence);
        let known = next.checked_sub(sequence).ok_or_else(|| protocol_error("an item is missing"))?;
        let through = sequence.checked_add(count).ok_or_else(|| protocol_error("a sequence goes beyond 64 bits"))?;
        self.note(Delivered { through, cursor, names });
        if known >= count {
            return Ok(None);
        }
        self.next = Some(through);
        Ok(Some((sequence + known, rest(item, known))))
    }

    /// Remembers the cursor of what was delivered; signed anew after a resume, it stands for the same. A cursor never goes
    /// back.
    fn note(&mut self, fresh: Delivered) {
        if fresh.through <= self.cursor_at {
            return;
        }
        match self.delivered.iter().position(|known| known.through >= fresh.through) {
            Some(at) if self.delivered[at].through == fresh.through => self.delivered[at].cursor = fresh.cursor,
            Some(at) => self.delivered.insert(at, fresh),
            None => self.delivered.push_back(fresh),
        }
    }

    /// Its end arrived. Whether for the first time.
    pub(super) fn end(&mut self, sequence: u64, cursor: Option<String>) -> Result<bool, Refusal> {
        if self.next.is_some_and(|next| sequence > next) && self.cancelled.is_none() {
            return Err(protocol_error("a stream ends after items that did not come"));
        }
        self.end_cursor = cursor;
        Ok(!std::mem::replace(&mut self.ended, true))
    }

    pub(super) fn consumed(&mut self, through: u64, end: bool) {
        self.taken = self.taken.max(through);
        self.end_taken |= end;
    }

    /// Moves the cursor to what was taken, up to an item that names outputs which are not `done`.
    pub(super) fn advance(&mut self, done: &HashSet<OutputId>) {
        let is_taken = |delivered: &mut Delivered| {
            delivered.through <= self.taken && delivered.names.iter().all(|named| done.contains(named))
        };
        while let Some(Delivered { through, cursor, .. }) = self.delivered.pop_front_if(is_taken) {
            self.cursor_at = through;
            self.cursor = Some(cursor);
        }
        if self.is_done()
            && let Some(cursor) = self.end_cursor.take()
        {
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
