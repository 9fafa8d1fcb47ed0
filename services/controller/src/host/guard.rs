//! One operation at a time on a session (execution.md §2.1). Between hosts only fence and CAS protect.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use journal::SessionUid;

use super::HostError;

/// The sessions that a guarded operation runs on. Cheap to clone; clones share the set.
#[derive(Clone, Default)]
pub(super) struct Guards {
    held: Arc<Mutex<HashSet<SessionUid>>>,
}

/// The right to operate on a session, until dropped.
pub(super) struct Guard {
    guards: Guards,
    uid: SessionUid,
}

impl Guards {
    /// Takes the session's guard, or answers [`HostError::Busy`] at once.
    pub(super) fn try_take(&self, uid: &SessionUid) -> Result<Guard, HostError> {
        if self.with(|held| held.insert(uid.clone())) {
            Ok(Guard { guards: self.clone(), uid: uid.clone() })
        } else {
            Err(HostError::Busy)
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashSet<SessionUid>) -> T) -> T {
        // Inserting and removing cannot leave the set half changed, so a poisoned lock is still good.
        change(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.guards.with(|held| held.remove(&self.uid));
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
