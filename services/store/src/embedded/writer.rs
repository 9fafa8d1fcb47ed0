//! The one connection that writes, and what it does beside committing.

use std::sync::Arc;

use super::group::{GroupError, Outcome, begin, commit_group};
use super::keeper::Signal;
use super::log::Log;
use super::stats::Counters;
use super::table::Table;
use super::turn::Turn;
use crate::optimistic::Commit;
use crate::watches::Watches;
use crate::{CommitError, Versionstamp};

/// How much longer the write-ahead log gets, in pages, before it is copied into the main file: longer copies fewer pages
/// that change again soon, shorter keeps the log in the cache of the operating system.
const CHECKPOINT_FRAMES: u32 = 4_000;

/// How many groups are written between two looks at the length of the write-ahead log.
const WAL_LOOK_GROUPS: u32 = 16;

/// What a transaction is told.
pub(super) type Answer = Result<Option<Versionstamp>, CommitError>;

/// What the writer does beside committing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// Resolve every watch if another process has written since the last time.
    LookForOthers,
    /// Copy the rest of the write-ahead log, so that it starts anew.
    FinishCheckpoint,
}

/// Writes for whoever holds it.
pub(super) struct Writer {
    table: Table,
    turn: Turn,
    log: Log,
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
        log: Log,
        watches: Arc<Watches>,
        counters: Arc<Counters>,
        keeper: Arc<Signal>,
    ) -> Self {
        let seen_version = table.data_version().ok();
        Self { table, turn, log, watches, counters, keeper, seen_version, wal: WalGrowth::default() }
    }

    /// Commits a group with one fsync and says what became of each, in order.
    pub(super) fn commit<'c>(&mut self, group: impl ExactSizeIterator<Item = &'c Commit> + Clone) -> Vec<Answer> {
        match commit_group(&self.turn, &mut self.table, group.clone()) {
            Ok(outcomes) => {
                self.count(&outcomes);
                self.watch_wal();
                group.zip(outcomes).map(|(commit, outcome)| self.answer(commit, outcome)).collect()
            }
            Err(error) => self.failed(&error, group.len()),
        }
    }

    /// Watches are told first, so that one which is armed once the answer is there waits for the next change.
    fn answer(&self, commit: &Commit, outcome: Outcome) -> Answer {
        match outcome {
            Outcome::Committed(stamp) => {
                self.watches.fire(commit.writes.changes());
                Ok(stamp)
            }
            Outcome::Conflict => Err(CommitError::Conflict),
        }
    }

    fn failed(&self, error: &GroupError, transactions: usize) -> Vec<Answer> {
        tracing::warn!(%error, transactions, "a group of transactions was not committed");
        self.counters.failed_groups.add(1);
        // It is not known which of them took effect.
        self.watches.fire_all();
        (0..transactions).map(|_| Err(error.answer())).collect()
    }

    fn count(&self, outcomes: &[Outcome]) {
        let committed = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Committed(_))).count();
        self.counters.commits.add(committed);
        self.counters.conflicts.add(outcomes.len() - committed);
        self.counters.groups.add(usize::from(committed > 0));
    }

    pub(super) fn run(&mut self, errand: Errand) {
        match errand {
            Errand::LookForOthers => self.look_for_others(),
            Errand::FinishCheckpoint => self.finish_checkpoint(),
        }
    }

    fn watch_wal(&mut self) {
        if !self.wal.count_group() {
            return;
        }
        let frames = match self.table.wal_frames() {
            Ok(frames) => frames,
            Err(error) => return tracing::warn!(%error, "cannot find the length of the write-ahead log"),
        };
        if self.wal.wants_copy(frames) {
            self.keeper.checkpoint();
        }
        // Without it, commits are slower and otherwise the same.
        match self.log.has_room(frames) {
            Ok(true) => {}
            Ok(false) => self.make_room(),
            Err(error) => tracing::warn!(%error, "cannot look at the write-ahead log"),
        }
    }

    fn make_room(&self) {
        if let Err(error) = begin(&self.turn, &self.table) {
            return tracing::warn!(%error, "cannot lengthen the write-ahead log");
        }
        if let Err(error) = self.log.lengthen() {
            tracing::warn!(%error, "cannot lengthen the write-ahead log");
        }
        if let Err(error) = self.table.roll_back() {
            tracing::error!(%error, "cannot give back the right to write");
        }
    }

    fn finish_checkpoint(&self) {
        match self.table.checkpoint() {
            Ok(copied) => self.counters.checkpoints.add(usize::from(copied.is_some())),
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
