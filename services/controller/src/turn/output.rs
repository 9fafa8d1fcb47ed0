//! Output of the harness's own (execution.md §5.2), and what the host records as output of an invocation.

use wire::event::Body;
use wire::{EventKind, Message};

use super::matching::mismatch;
use super::{Asked, Effect, Step, Then, Turn};

impl Turn {
    /// The harness emits output: its text is recorded, as one part. No reply.
    pub(super) fn output(&mut self, message: &Message) -> Step {
        let text = message.text_content();
        match self.next(Asked::Output)? {
            None => {
                let output = Message::text("assistant", text);
                let event = self.record(EventKind::EventOutput, Body::Message(output));
                Ok(self.append(vec![event], Then::Read))
            }
            Some(Effect::Output(recorded)) if recorded.text_content() == text => Ok(self.read()),
            Some(other) => Err(mismatch(Asked::Output, matches!(other, Effect::Output(_)))),
        }
    }

    /// The host gives its account of the invocation that this turn is. What is recorded of it is compared as a whole.
    pub(super) fn emit(&mut self, account: Message) -> Step {
        let event = self.record(EventKind::EventOutput, Body::Message(account));
        match self.next(Asked::Account)? {
            None => Ok(self.append(vec![event], Then::Read)),
            Some(Effect::Output(recorded)) if event.body == Some(Body::Message(recorded.clone())) => Ok(self.read()),
            Some(other) => Err(mismatch(Asked::Account, matches!(other, Effect::Output(_)))),
        }
    }
}
