//! Which sessions are followed on this node, as far as the connection has to know: it subscribes to their news, and only to
//! theirs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use journal::SessionUid;
use tokio::sync::Notify;

/// What has changed since the connection last looked. No change is lost and each session is in it once, so it is no
/// larger than what is followed.
#[derive(Default)]
pub(super) struct Follows {
    /// Whether the session is followed. `None` while there is no connection, which begins with all that are.
    changes: Mutex<Option<HashMap<SessionUid, bool>>>,
    changed: Notify,
}

impl Follows {
    /// The session is followed now, or is not any more.
    pub(super) fn note(&self, session: &SessionUid, followed: bool) {
        self.with(|changes| {
            if let Some(changes) = changes {
                changes.insert(session.clone(), followed);
            }
        });
        self.changed.notify_one();
    }

    /// Keeps changes from now on: there is a connection.
    pub(super) fn begin(&self) {
        self.with(|changes| *changes = Some(HashMap::new()));
    }

    /// Keeps no changes any more.
    pub(super) fn end(&self) {
        self.with(|changes| *changes = None);
    }

    /// The changes since the last call, once there are some. One caller at a time. Cancel safe.
    pub(super) async fn changes(&self) -> HashMap<SessionUid, bool> {
        loop {
            let changes = self.with(|changes| changes.as_mut().map(std::mem::take)).unwrap_or_default();
            if !changes.is_empty() {
                return changes;
            }
            self.changed.notified().await;
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Option<HashMap<SessionUid, bool>>) -> T) -> T {
        // Inserting and taking cannot leave the map half changed, so a poisoned lock is still good.
        change(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_word_on_a_session_counts() {
        let follows = Follows::default();
        let (one, two) = (SessionUid::parse("one").unwrap(), SessionUid::parse("two").unwrap());
        follows.note(&one, true);
        follows.begin();
        follows.note(&two, true);
        follows.note(&one, true);
        follows.note(&one, false);
        assert_eq!(follows.changes().await, HashMap::from([(one, false), (two, true)]));
    }
}
