//! The instances whose queues this node drives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use journal::SessionUid;

/// See the module. Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Drives {
    /// Whether there may be more to do than when the drive last looked.
    driven: Arc<Mutex<HashMap<SessionUid, bool>>>,
}

/// The task of driving one queue, until dropped.
pub(super) struct Drive {
    drives: Drives,
    instance: SessionUid,
    /// The entry is no longer this one's.
    over: bool,
}

impl Drives {
    /// Begins to drive a queue. If that is done already, whoever does it will look once more.
    pub(super) fn begin(&self, instance: &SessionUid) -> Option<Drive> {
        let known = self.with(|driven| driven.insert(instance.clone(), true));
        known.is_none().then(|| Drive { drives: self.clone(), instance: instance.clone(), over: false })
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<SessionUid, bool>) -> T) -> T {
        // Each change is a single one, so a poisoned lock is still good.
        change(&mut self.driven.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drive {
    pub(super) fn instance(&self) -> &SessionUid {
        &self.instance
    }

    /// Whether there may be more to do than at the last time. If not, the next to begin drives the queue.
    pub(super) fn goes_on(&mut self) -> bool {
        let goes_on = self.drives.with(|driven| match driven.get_mut(&self.instance) {
            Some(more) if *more => std::mem::replace(more, false),
            _ => {
                driven.remove(&self.instance);
                false
            }
        });
        self.over = !goes_on;
        goes_on
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        // One that was cut off.
        if !self.over {
            self.drives.with(|driven| driven.remove(&self.instance));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_driven_once_and_looked_at_again_for_whoever_came_meanwhile() {
        let (drives, instance) = (Drives::default(), SessionUid::parse("s").unwrap());
        let mut drive = drives.begin(&instance).expect("nobody drives it");
        assert!(drive.goes_on());
        assert!(drives.begin(&instance).is_none());
        assert!(drive.goes_on(), "somebody came");
        assert!(!drive.goes_on());
        let mut next = drives.begin(&instance).expect("it has ended");
        assert!(next.goes_on());
        drop(drive);
        assert!(drives.begin(&instance).is_none(), "the end of the first is none of the second");
        drop(next);
        assert!(drives.begin(&instance).is_some(), "the second was cut off");
    }
}
