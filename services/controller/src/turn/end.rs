//! The end of a run (execution.md §4.2, §4.3).

use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{Event, EventKind, HarnessEnd, Lifecycle};

use super::matching::diverged;
use super::{Action, Divergence, Mode, Step, Then, Turn, TurnEnd, TurnFailure};

/// Longest text that is taken over from a harness's END, in bytes.
const MAX_TEXT: usize = 4096;

impl Turn {
    /// The harness says that it has ended.
    pub(super) fn harness_end(&mut self, body: Option<Body>) -> Step {
        let end = match body {
            Some(Body::End(end)) => end,
            _ => HarnessEnd::default(),
        };
        if end.state == HarnessEnd::COMPLETED {
            return self.end();
        }
        let description = end.error.map(|error| error.description).unwrap_or_default();
        Err(TurnFailure::HarnessEnded { state: cut(end.state), description: cut(description) })
    }

    /// The harness has ended well, or has closed its stream without a word, which counts as that.
    pub(super) fn end(&mut self) -> Step {
        if !self.recorded.is_empty() {
            return Err(diverged(Divergence::LeftOver));
        }
        let end = HarnessEnd { state: HarnessEnd::COMPLETED.into(), error: None };
        let end = self.record(EventKind::EventEnd, Body::End(end));
        match self.mode {
            Mode::Live => Ok(self.append(vec![end], Then::Complete)),
            Mode::Recover => Ok(self.append(vec![end, resumed()], Then::Complete)),
            Mode::Replay => Ok(Action::Finish(TurnEnd::Completed)),
        }
    }
}

/// A text of a harness, short enough for a record and a status.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}

/// The LIFECYCLE RESUME that follows the END of a recovered turn.
fn resumed() -> Event {
    let body = Lifecycle { kind: Kind::LifecycleResume.into(), ..Lifecycle::default() };
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(body))
}
