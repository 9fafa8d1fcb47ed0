//! The thread that looks after what nobody waits for: watches on other processes' commits, and expired snapshots.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::readers::Readers;
use super::writer::Request;
use crate::watches::Watches;

/// How often commits of other processes are looked for while somebody watches.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// How often expired snapshots are looked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Wakes the keeper.
#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct State {
    stopped: bool,
    woken: bool,
}

impl Signal {
    pub(super) fn wake(&self) {
        self.lock().woken = true;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Waits for `time`, or until woken. Returns whether to go on.
    fn wait(&self, time: Duration) -> bool {
        let quiet = |state: &mut State| !state.stopped && !state.woken;
        let waited = self.changed.wait_timeout_while(self.lock(), time, quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.woken = false;
        !state.stopped
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the keeper thread.
pub(super) struct Keeper {
    pub(super) signal: Arc<Signal>,
    pub(super) readers: Arc<Readers>,
    pub(super) watches: Arc<Watches>,
    /// Weak, so that the writer ends when the store is dropped.
    pub(super) writer: mpsc::WeakSender<Request>,
}

impl Keeper {
    /// Works until the store is closed.
    pub(super) fn run(self) {
        let mut watched = false;
        while self.signal.wait(if watched { WATCH_INTERVAL } else { INTERVAL }) {
            self.readers.end_expired();
            watched = self.watches.forget_dropped() > 0;
            if watched {
                self.look_for_others();
            }
        }
    }

    fn look_for_others(&self) {
        if let Some(writer) = self.writer.upgrade() {
            // A full queue means that the writer is busy; the next time will do.
            let _ = writer.try_send(Request::LookForOthers);
        }
    }
}
