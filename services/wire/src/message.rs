//! Constructors and accessors for the messages that nearly every caller makes or reads.

use crate::{DataPart, Event, EventKind, HarnessEnd, IdentityRef, Message, Part, TextPart, event, part, protobuf};

impl Message {
    /// A message of one text part.
    #[must_use]
    pub fn text(role: impl Into<String>, text: impl Into<String>) -> Self {
        Self { role: role.into(), parts: vec![Part::text(text)] }
    }

    /// The texts of all text parts, joined.
    #[must_use]
    pub fn text_content(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }
}

impl Part {
    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        part::Part::Text(TextPart { text: text.into() }).into()
    }

    /// A data part.
    #[must_use]
    pub fn data(data: protobuf::Struct) -> Self {
        part::Part::Data(DataPart { data: Some(data) }).into()
    }

    /// The text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.part {
            Some(part::Part::Text(part)) => Some(&part.text),
            _ => None,
        }
    }
}

impl From<part::Part> for Part {
    fn from(part: part::Part) -> Self {
        Self { part: Some(part) }
    }
}

impl Event {
    /// An event of which only kind and body are set.
    #[must_use]
    pub fn new(kind: EventKind, body: impl Into<Option<event::Body>>) -> Self {
        Self { kind: kind.into(), body: body.into(), ..Self::default() }
    }

    /// The same event, as part of an execution.
    #[must_use]
    pub fn of_execution(mut self, execution_id: impl Into<String>) -> Self {
        self.execution_id = execution_id.into();
        self
    }
}

impl HarnessEnd {
    /// State of a turn that ended well.
    pub const COMPLETED: &str = "COMPLETED";
    /// State of a turn that was canceled.
    pub const CANCELED: &str = "CANCELED";
}

impl IdentityRef {
    /// Whether it names nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.principal.is_empty() && self.issuer.is_empty() && self.subject.is_empty()
    }
}
