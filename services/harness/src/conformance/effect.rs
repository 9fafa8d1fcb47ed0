//! Effects that a host answers.

use std::fmt;

use wire::event::Body;
use wire::{Event, Mediation};

/// An effect that a host answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Model,
    Tool,
    Gate,
    /// Whichever comes first.
    Any,
}

impl Effect {
    /// What `event` asks for, if it waits for an answer.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match &event.body {
            Some(Body::Model(_)) => Some(Self::Model),
            Some(Body::Tool(call)) if call.mediation() == Mediation::RequiresApproval => Some(Self::Gate),
            Some(Body::Tool(_)) => Some(Self::Tool),
            _ => None,
        }
    }

    /// Whether `event` asks for this.
    pub(super) fn is_asked_by(self, event: &Event) -> bool {
        Self::of(event).is_some_and(|asked| self == asked || self == Self::Any)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model request",
            Self::Tool => "tool call",
            Self::Gate => "tool call that needs approval",
            Self::Any => "request that waits for an answer",
        })
    }
}
