//! One operation at a time on a session (execution.md §2.1). Between hosts only fence and CAS protect.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use journal::{ExecutionId, Incarnation, SessionUid};

use super::HostError;
use super::live::{LiveTurn, StopOrder};

/// The sessions that a guarded operation runs on. Cheap to clone; clones share the set.
#[derive(Clone, Default)]
pub(super) struct Guards {
    held: Arc<Mutex<Held>>,
}

/// What is known of each operation: the turn that it runs, once it runs one.
type Held = HashMap<SessionUid, Option<LiveTurn>>;

/// The right to operate on a session, until dropped.
pub(super) struct Guard {
    guards: Guards,
    uid: SessionUid,
    /// The owner of the session, if it was asked and did not answer.
    silent: Option<Incarnation>,
}

impl Guards {
    /// Takes the session's guard, or answers [`HostError::Busy`] at once.
    pub(super) fn try_take(&self, uid: &SessionUid) -> Result<Guard, HostError> {
        self.with(|held| match held.entry(uid.clone()) {
            Entry::Occupied(_) => Err(HostError::Busy),
            Entry::Vacant(free) => {
                free.insert(None);
                Ok(Guard { guards: self.clone(), uid: uid.clone(), silent: None })
            }
        })
    }

    /// The turn that runs on the session here.
    pub(super) fn live_turn(&self, uid: &SessionUid) -> Option<LiveTurn> {
        self.with(|held| held.get(uid).cloned().flatten())
    }

    /// Whether an operation runs on the session.
    pub(super) fn is_taken(&self, uid: &SessionUid) -> bool {
        self.with(|held| held.contains_key(uid))
    }

    fn with<T>(&self, change: impl FnOnce(&mut Held) -> T) -> T {
        // Inserting and removing cannot leave the set half changed, so a poisoned lock is still good.
        change(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Guard {
    /// Notes that the session's owner does not answer.
    pub(super) fn note_silent(&mut self, owner: Incarnation) {
        self.silent = Some(owner);
    }

    /// The owner that did not answer, whom to tell once it is shut out.
    pub(super) fn silent(&self) -> Option<Incarnation> {
        self.silent
    }

    /// Makes the turn that the operation runs known to those who may want to stop it. Returns the order to watch.
    pub(super) fn run(&self, execution: ExecutionId) -> StopOrder {
        let turn = LiveTurn::new(execution);
        let order = turn.order().clone();
        self.guards.with(|held| held.insert(self.uid.clone(), Some(turn)));
        order
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Whoever waits for the turn's end finds the guard free.
        if let Some(turn) = self.guards.with(|held| held.remove(&self.uid)).flatten() {
            turn.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_operation_is_busy_until_the_first_ends() {
        let guards = Guards::default();
        let uid = SessionUid::parse("sess-1").unwrap();
        let other = SessionUid::parse("sess-2").unwrap();

        let first = guards.try_take(&uid).unwrap();
        assert!(matches!(guards.try_take(&uid), Err(HostError::Busy)));
        assert!(guards.try_take(&other).is_ok());
        drop(first);
        assert!(guards.try_take(&uid).is_ok());
    }
}
