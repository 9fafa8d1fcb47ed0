//! The one thread that writes: it takes all waiting commits as one group.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::group::{Outcome, commit_group};
use super::stats::Counters;
use super::table::Table;
use crate::optimistic::Commit;
use crate::watches::Watches;
use crate::{CommitError, Versionstamp};

/// Most commits that may wait for the writer; whoever comes later waits for a place.
pub(super) const QUEUE: usize = 4_096;
/// Most commits in one group.
const GROUP: usize = 1_024;

/// What a transaction is told.
pub(super) type Answer = Result<Option<Versionstamp>, CommitError>;

/// What the writer is asked.
pub(super) enum Request {
    Commit(Box<Commit>, oneshot::Sender<Answer>),
    /// Resolve every watch if another process has written since the last time.
    LookForOthers,
    /// Finish what waits, then stop.
    Close,
}

/// The state of the writer thread.
pub(super) struct Writer {
    pub(super) table: Table,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) watches: Arc<Watches>,
    pub(super) counters: Arc<Counters>,
    pub(super) seen_version: i64,
}

impl Writer {
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
                Request::Close => self.requests.close(),
            }
        }
        if !group.is_empty() {
            self.commit(group);
        }
    }

    fn commit(&mut self, group: Vec<(Box<Commit>, oneshot::Sender<Answer>)>) {
        match commit_group(&mut self.table, group.iter().map(|(commit, _)| &**commit)) {
            Ok(outcomes) => self.answer(group, outcomes),
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
        let mut committed = 0;
        let total = group.len();
        for ((commit, answer), outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Committed(stamp) => {
                    committed += 1;
                    send(answer, Ok(stamp));
                    self.watches.fire(commit.writes.changes());
                }
                Outcome::Conflict => send(answer, Err(CommitError::Conflict)),
            }
        }
        self.counters.commits.add(committed);
        self.counters.conflicts.add(total - committed);
        self.counters.groups.add(usize::from(committed > 0));
    }

    fn look_for_others(&mut self) {
        match self.table.data_version() {
            Ok(version) if version == self.seen_version => {}
            Ok(version) => {
                self.seen_version = version;
                self.watches.fire_all();
            }
            Err(error) => tracing::warn!(%error, "cannot look for commits of other processes"),
        }
    }
}

fn send(answer: oneshot::Sender<Answer>, outcome: Answer) {
    // An error means that the transaction's future was dropped: nobody wants to know.
    let _ = answer.send(outcome);
}
