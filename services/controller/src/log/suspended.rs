//! The snapshots that SUSPENDs name (execution.md §10).

use std::collections::HashMap;

use wire::lifecycle::Kind;
use wire::{Lifecycle, SnapshotRef};

/// The latest snapshot of each session that has a SUSPEND in the log: a forked one has those of its ancestors too.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspended {
    /// By the uid in `snapshot_local`.
    snapshots: HashMap<String, SnapshotRef>,
}

impl Suspended {
    pub(super) fn push(&mut self, lifecycle: &Lifecycle) {
        if lifecycle.kind() == Kind::LifecycleSuspend {
            let snapshot = SnapshotRef {
                local: lifecycle.snapshot_local.clone(),
                external_uri: lifecycle.snapshot_external_uri.clone(),
                memory: lifecycle.snapshot_memory,
                sealed: lifecycle.snapshot_sealed,
            };
            self.snapshots.insert(snapshot.local.clone(), snapshot);
        }
    }

    pub(super) fn latest(&self, session: &str) -> Option<&SnapshotRef> {
        self.snapshots.get(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspended(records: &[(Kind, &str, &str)]) -> Suspended {
        let mut suspended = Suspended::default();
        for (kind, local, uri) in records {
            suspended.push(&Lifecycle {
                kind: (*kind).into(),
                snapshot_local: (*local).into(),
                snapshot_external_uri: (*uri).into(),
                snapshot_memory: true,
                ..Lifecycle::default()
            });
        }
        suspended
    }

    #[test]
    fn the_latest_own_suspend_counts_and_those_of_a_parent_do_not() {
        use Kind::{LifecycleFork, LifecycleResume, LifecycleSuspend};
        let records = [
            (LifecycleSuspend, "parent", "p"),
            (LifecycleFork, "", ""),
            (LifecycleSuspend, "child", "1"),
            (LifecycleSuspend, "child", "2"),
            (LifecycleResume, "child", "no snapshot"),
            (LifecycleSuspend, "another", "a"),
        ];
        let latest = |count: usize| suspended(&records[..count]).latest("child").cloned();
        assert_eq!(latest(2), None);
        let expected = SnapshotRef { local: "child".into(), external_uri: "2".into(), memory: true, sealed: false };
        assert_eq!(latest(6), Some(expected));
    }
}
