//! The one thread that writes: it takes all waiting commits as one group.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::group::{Outcome, commit_group};
use super::keeper::Signal;
use super::stats::Counters;
use super::table::Table;
use super::turn::Turn;
use crate::optimistic::Commit;
use crate::watches::Watches;
use crate::{CommitError, Versionstamp};

/// Most commits that may wait for the writer, and how many bytes they may have together; whoever comes later waits for
/// a place.
pub(super) const QUEUE: usize = 4_096;
pub(super) const QUEUE_BYTES: u32 = 64 << 20;
/// Most commits in one group.
const GROUP: usize = 1_024;

/// How much longer the write-ahead log gets, in pages, before it is copied into the main file: longer copies fewer pages
/// that change again soon, shorter keeps the log in the cache of the operating system.
const CHECKPOINT_FRAMES: u32 = 4_000;

/// How many groups are written between two looks at the length of the write-ahead log.
const WAL_LOOK_GROUPS: u32 = 16;

/// What a transaction is told.
pub(super) type Answer = Result<Option<Versionstamp>, CommitError>;

/// What the writer is asked.
pub(super) enum Request {
    Commit(Box<Commit>, oneshot::Sender<Answer>),
    /// Resolve every watch if another process has written since the last time.
    LookForOthers,
    /// Copy the rest of the write-ahead log, so that it starts anew.
    FinishCheckpoint,
    /// Finish what waits, then stop.
    Close,
}

/// The state of the writer thread.
pub(super) struct Writer {
    table: Table,
    turn: Turn,
    requests: mpsc::Receiver<Request>,
    watches: Arc<Watches>,
    counters: Arc<Counters>,
    keeper: Arc<Signal>,
    /// The number that tells whether other processes have written.
    seen_version: Option<i64>,
    wal: WalGrowth,
}

/// Decides when the write-ahead log is long enough to be copied.
#[derive(Debug, Default)]
struct WalGrowth {
    /// Groups since the length was looked at.
    groups: u32,
    /// Its length when that was last found, or 0 when it has started anew since.
    copied_at: u32,
}

impl WalGrowth {
    /// Whether it is time to look at the length.
    fn count_group(&mut self) -> bool {
        self.groups = (self.groups + 1) % WAL_LOOK_GROUPS;
        self.groups == 0
    }

    /// Whether the log, of this length, should be copied now.
    fn wants_copy(&mut self, frames: u32) -> bool {
        if frames < self.copied_at {
            self.copied_at = 0;
        }
        let wants = frames - self.copied_at >= CHECKPOINT_FRAMES;
        if wants {
            self.copied_at = frames;
        }
        wants
    }
}

impl Writer {
    pub(super) fn new(
        table: Table,
        turn: Turn,
        requests: mpsc::Receiver<Request>,
        watches: Arc<Watches>,
        counters: Arc<Counters>,
        keeper: Arc<Signal>,
    ) -> Self {
        let seen_version = table.data_version().ok();
        Self { table, turn, requests, watches, counters, keeper, seen_version, wal: WalGrowth::default() }
    }

    /// Serves requests until the store is closed.
    pub(super) fn run(mut self) {
        let mut waiting = Vec::with_capacity(GROUP);
        // Nothing to receive means that every sender is gone, or the queue was closed and is drained.
        while self.requests.blocking_recv_many(&mut waiting, GROUP) > 0 {
            self.serve(waiting.drain(..));
        }
    }

    fn serve(&mut self, waiting: impl Iterator<Item = Request>) {
        let mut group = Vec::new();
        for request in waiting {
            match request {
                Request::Commit(commit, answer) => group.push((commit, answer)),
                Request::LookForOthers => self.look_for_others(),
                Request::FinishCheckpoint => self.finish_checkpoint(),
                Request::Close => self.requests.close(),
            }
        }
        if !group.is_empty() {
            self.commit(group);
        }
    }

    fn commit(&mut self, group: Vec<(Box<Commit>, oneshot::Sender<Answer>)>) {
        match commit_group(&self.turn, &mut self.table, group.iter().map(|(commit, _)| &**commit)) {
            Ok(outcomes) => {
                self.answer(group, outcomes);
                self.watch_wal();
            }
            Err(error) => {
                tracing::warn!(%error, transactions = group.len(), "a group of transactions was not committed");
                self.counters.failed_groups.add(1);
                for (_, answer) in group {
                    send(answer, Err(error.answer()));
                }
                // It is not known which of them took effect.
                self.watches.fire_all();
            }
        }
    }

    fn answer(&self, group: Vec<(Box<Commit>, oneshot::Sender<Answer>)>, outcomes: Vec<Outcome>) {
        let committed = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Committed(_))).count();
        self.counters.commits.add(committed);
        self.counters.conflicts.add(outcomes.len() - committed);
        self.counters.groups.add(usize::from(committed > 0));
        for ((commit, answer), outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Committed(stamp) => {
                    send(answer, Ok(stamp));
                    self.watches.fire(commit.writes.changes());
                }
                Outcome::Conflict => send(answer, Err(CommitError::Conflict)),
            }
        }
    }

    fn watch_wal(&mut self) {
        if !self.wal.count_group() {
            return;
        }
        match self.table.wal_frames() {
            Ok(frames) if self.wal.wants_copy(frames) => self.keeper.checkpoint(),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot find the length of the write-ahead log"),
        }
    }

    fn finish_checkpoint(&self) {
        match self.table.checkpoint() {
            Ok(_) => self.counters.checkpoints.add(1),
            Err(error) => tracing::warn!(%error, "cannot finish a checkpoint"),
        }
    }

    fn look_for_others(&mut self) {
        match self.table.data_version() {
            Ok(version) => {
                if self.seen_version.replace(version) != Some(version) {
                    self.watches.fire_all();
                }
            }
            Err(error) => tracing::warn!(%error, "cannot look for commits of other processes"),
        }
    }
}

fn send(answer: oneshot::Sender<Answer>, outcome: Answer) {
    // An error means that the transaction's future was dropped: nobody wants to know.
    let _ = answer.send(outcome);
}
