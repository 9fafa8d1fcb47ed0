//! Usage reports (execution.md §5.2).

use wire::event::Body;
use wire::{EventKind, Usage};

use super::matching::mismatch;
use super::{Asked, Effect, Mode, Step, Then, Turn};

impl Turn {
    /// The harness reports usage: it is recorded. No reply.
    pub(super) fn usage(&mut self, usage: Usage) -> Step {
        if self.is_legacy() && (self.mode == Mode::Replay || !self.recorded.is_empty()) {
            return Ok(self.read());
        }
        match self.next(Asked::Usage)? {
            None => {
                let event = self.record(EventKind::EventUsage, Body::Usage(usage));
                Ok(self.append(vec![event], Then::Read))
            }
            Some(Effect::Usage(recorded)) if recorded == usage => Ok(self.read()),
            Some(other) => Err(mismatch(Asked::Usage, matches!(other, Effect::Usage(_)))),
        }
    }
}
