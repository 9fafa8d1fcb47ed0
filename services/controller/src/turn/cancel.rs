//! Stopping a turn for good, whatever it waits for.

use super::{Action, State, Turn};

impl Turn {
    /// Has the harness stopped. What it waits for is not done any more, and the turn itself appends nothing: which records
    /// close it depends on the whole log, gates that are open in the recorded part included.
    pub(super) fn stop(&mut self) -> Action {
        self.state = State::Stopping;
        Action::Stop
    }
}
