//! One output on one connection (protocol.md sections 11 and 13).

use super::OutputItem;
use crate::binary::BinaryMessage;
use crate::message::{Mapping, Node, ServerMessage};
use crate::{ErrorCode, Refusal};

use super::Action;

/// An output as far as this connection has come.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// The client has no use for it.
    cancelled: bool,
    /// Its terminal was sent.
    ended: bool,
}

impl Output {
    /// Whether items are still sent.
    pub(super) fn is_wanted(&self) -> bool {
        !self.cancelled && !self.ended
    }

    /// The client cancels it (Q3, Q4). Whether the producer is to be told.
    pub(super) fn cancel(&mut self) -> Result<bool, Refusal> {
        if std::mem::replace(&mut self.cancelled, true) {
            return Err(Refusal::new(ErrorCode::ProtocolError, "the stream is cancelled already"));
        }
        Ok(!self.ended)
    }

    /// Its terminal is sent now. Whether that is so for the first time.
    pub(super) fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.ended, true)
    }
}

/// The message that carries an item.
pub(super) fn item_message(
    channel: u32,
    sequence: u64,
    cursor: String,
    item: &OutputItem,
    mappings: Vec<Mapping>,
) -> Action<'static> {
    match item {
        OutputItem::Value(value, _) => {
            let message = ServerMessage::Item { channel, sequence, cursor, mappings, value: Node::Text(value) };
            Action::Send(message.encode())
        }
        OutputItem::Binary(items) => {
            let message = BinaryMessage { channel, sequence, items: items.clone(), cursor: Some(cursor) };
            Action::SendBinary(message.encode_head(), items.payload().clone())
        }
    }
}
