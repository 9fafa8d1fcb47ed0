//! The thread that looks after what nobody waits for: the write-ahead log, watches on other processes' commits, expired
//! snapshots, and that the files are where they were.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::doubt::Doubt;
use super::places::Places;
use super::queue::Queue;
use super::readers::Readers;
use super::stats::Counters;
use super::table::{Table, Wal};
use super::turn::Turn;
use super::writer::Errand;
use crate::watches::Watches;

/// How often commits of other processes are looked for while somebody watches.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// How often expired snapshots are looked for.
const INTERVAL: Duration = Duration::from_secs(1);
/// The writer copies the rest of the write-ahead log itself once it is this short, in pages.
const SHORT_REST: u32 = 200;
/// How often the keeper tries to get there while the writer goes on.
const CHECKPOINT_TRIES: u32 = 4;
/// A write-ahead log of so many pages is not left to chance: 64 MiB, as much as is kept of its file.
const LONG_LOG: u32 = 16_384;

/// How long it waits at most to be the one that writes next.
const TURN_WAIT: Duration = Duration::from_secs(1);
/// How often it then tries whether the one that writes is done, with the patience of its connection.
const WRITER_TRIES: u32 = 20;

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
    checkpoint: bool,
}

/// What the keeper was woken for.
enum Wake {
    Round,
    Checkpoint,
    Stop,
}

impl Signal {
    /// Watches were armed: look for changes more often.
    pub(super) fn watches_armed(&self) {
        self.lock().woken = true;
        self.changed.notify_all();
    }

    /// The write-ahead log is long.
    pub(super) fn checkpoint(&self) {
        self.lock().checkpoint = true;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Waits for `time`, or until woken.
    fn wait(&self, time: Duration) -> Wake {
        let quiet = |state: &mut State| !state.stopped && !state.woken && !state.checkpoint;
        let waited = self.changed.wait_timeout_while(self.lock(), time, quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.woken = false;
        let checkpoint = std::mem::take(&mut state.checkpoint);
        match (state.stopped, checkpoint) {
            (true, _) => Wake::Stop,
            (false, true) => Wake::Checkpoint,
            (false, false) => Wake::Round,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the keeper thread.
pub(super) struct Keeper {
    pub(super) places: Places,
    pub(super) doubt: Doubt,
    pub(super) table: Table,
    pub(super) turn: Turn,
    pub(super) signal: Arc<Signal>,
    pub(super) readers: Arc<Readers>,
    pub(super) watches: Arc<Watches>,
    pub(super) queue: Arc<Queue>,
    pub(super) counters: Arc<Counters>,
}

impl Keeper {
    /// Works until the store is closed.
    pub(super) fn run(self) {
        let mut watched = false;
        loop {
            match self.signal.wait(if watched { WATCH_INTERVAL } else { INTERVAL }) {
                Wake::Stop => return,
                Wake::Checkpoint => self.checkpoint(),
                Wake::Round => {}
            }
            if let Some(path) = self.places.lost() {
                // Nothing more is promised of what would be in no file after a restart.
                let path = path.display();
                tracing::error!(%path, "a file of the store was removed or replaced while it was open: the store is closed");
                return self.give_up();
            }
            if self.doubt.is_raised() {
                tracing::error!(
                    "the disk has failed to sync the store, which is closed; what was acknowledged is in its log"
                );
                return self.give_up();
            }
            self.readers.end_expired();
            watched = self.watches.forget_dropped() > 0;
            if watched {
                self.queue.ask(Errand::LookForOthers);
            }
        }
    }

    fn give_up(&self) {
        self.readers.close();
        self.queue.close();
    }

    /// Copies the write-ahead log beside the writer, which adds to it meanwhile, until little is left.
    ///
    /// The log starts anew only once all of it is copied, so the writer has to copy the last of it.
    fn checkpoint(&self) {
        let mut last = None;
        for _ in 0..CHECKPOINT_TRIES {
            last = self.copied(self.table.checkpoint());
            if last.is_none_or(|wal| wal.left() <= SHORT_REST) {
                break;
            }
        }
        match last {
            Some(wal) if wal.frames >= LONG_LOG => self.restart_log(),
            Some(wal) if wal.left() <= SHORT_REST => self.queue.ask(Errand::FinishCheckpoint),
            // A snapshot, here or in another process, still needs what is left.
            _ => {}
        }
    }

    /// While several processes write, one of them always has something to add before another has copied the last of it. Here
    /// none of them begins to write meanwhile.
    fn restart_log(&self) {
        let next = self.turn.wait(TURN_WAIT);
        let is_free = (0..WRITER_TRIES).any(|_| self.table.begin_write().is_ok());
        if let Err(error) = self.table.roll_back() {
            tracing::error!(%error, "cannot give back the right to write");
        }
        let restarted = if is_free { self.copied(self.table.restart_log()) } else { None };
        drop(next);
        if restarted.is_some_and(|wal| wal.left() == 0) {
            self.counters.checkpoints.add(1);
        } else {
            self.queue.ask(Errand::FinishCheckpoint);
        }
    }

    fn copied(&self, result: rusqlite::Result<Option<Wal>>) -> Option<Wal> {
        result.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot copy the write-ahead log");
            None
        })
    }
}
