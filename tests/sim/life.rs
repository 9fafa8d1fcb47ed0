//! The life of one run of a node: it runs, stands still, or is dead.
//!
//! A node's tasks meet the world in few places: the store, models, tools, other nodes, clients. In each of them they wait
//! here. So a node that stands still does nothing that anybody could notice, a dead one does nothing ever again, and what
//! was under way when it happened ends as the world decides.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Whether a node runs. Clones are the same life.
#[derive(Clone, Default)]
pub struct Life {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    phase: Mutex<Phase>,
    changed: Notify,
}

/// What a node is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    #[default]
    Awake,
    /// It stands still, as after SIGSTOP.
    Frozen,
    /// It was killed.
    Dead,
}

impl Life {
    /// What the node is doing now.
    pub fn phase(&self) -> Phase {
        *self.shared.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the node until it is woken.
    pub fn freeze(&self) {
        self.change(Phase::Awake, Phase::Frozen);
    }

    /// Wakes a node that stands still.
    pub fn wake(&self) {
        self.change(Phase::Frozen, Phase::Awake);
    }

    /// Kills the node.
    pub fn kill(&self) {
        self.change(Phase::Awake, Phase::Dead);
        self.change(Phase::Frozen, Phase::Dead);
    }

    /// Waits until the node runs: not at all if it does, for ever if it is dead.
    pub async fn awake(&self) {
        loop {
            let changed = self.shared.changed.notified();
            match self.phase() {
                Phase::Awake => return,
                Phase::Frozen => changed.await,
                Phase::Dead => pending().await,
            }
        }
    }

    /// Resolves when the node is dead.
    pub async fn death(&self) {
        loop {
            let changed = self.shared.changed.notified();
            if self.phase() == Phase::Dead {
                return;
            }
            changed.await;
        }
    }

    fn change(&self, from: Phase, to: Phase) {
        let mut phase = self.shared.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if *phase == from {
            *phase = to;
            self.shared.changed.notify_waiters();
        }
    }
}
