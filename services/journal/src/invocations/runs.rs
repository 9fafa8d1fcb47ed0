//! Who drives the queue of an instance.

use futures::FutureExt;
use store::{Isolation, KeyValue, RangeRead, TransactError, Transaction};

use super::{InvocationId, RunError};
use crate::error::refuse;
use crate::keys::{self, SessionKeys};
use crate::rows::{self, Kept, QueuedRow, RunnerRow, decode_uuid};
use crate::{Corrupt, Incarnation, Journal, JournalError, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "queue" };
/// Most instances that are named at once.
const PAGE: usize = 1_000;

/// The right to drive the queue of an instance, for as long as nobody else claims it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    session: SessionUid,
    node: Incarnation,
    epoch: u64,
}

impl Run {
    /// The instance.
    #[must_use]
    pub fn session(&self) -> &SessionUid {
        &self.session
    }

    fn is_in(&self, row: &RunnerRow) -> bool {
        (row.node, row.epoch) == (self.node.number(), self.epoch)
    }
}

impl Journal {
    /// Begins to drive the queue of an instance if this node is to, or nobody does; `None` if another node does, or if the
    /// queue is empty. Whoever drove it before is shut out, also on this node.
    ///
    /// # Errors
    /// [`RunError`].
    pub async fn claim_run(&self, session: &SessionUid) -> Result<Option<Run>, RunError> {
        let (keys, node) = (SessionKeys::new(session), self.incarnation);
        let run = self
            .store
            .transact::<_, RunError, _>(|transaction, _| {
                let keys = keys.clone();
                // Claiming once more shuts out nobody but the claim that went unanswered.
                async move { claim(transaction, &keys, node).await }.boxed()
            })
            .await?;
        Ok(run)
    }

    /// Leaves the queue of an instance to any node that claims it.
    ///
    /// # Errors
    /// [`RunError`].
    pub async fn release_run(&self, run: &Run) -> Result<(), RunError> {
        self.store
            .transact::<_, RunError, _>(|transaction, attempt| {
                let run = run.clone();
                async move {
                    let keys = SessionKeys::new(&run.session);
                    let runner = Kept::<RunnerRow>::read(transaction, &keys.runner()).await?;
                    let mut runner = runner.ok_or_else(|| refuse(RunError::Lost))?;
                    if attempt.maybe_committed && (runner.row.node, runner.row.epoch) == (0, run.epoch) {
                        return Ok(());
                    }
                    if !run.is_in(&runner.row) {
                        return Err(refuse(RunError::Lost));
                    }
                    let waiting = first_of_queue(transaction, &keys).await?.is_some();
                    give_up(transaction, &keys, &mut runner);
                    if waiting {
                        transaction.set(&keys::run(None, keys.uid()), &[]);
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        self.note_streams_changed(&run.session);
        Ok(())
    }

    /// Instances with something in their queue that this node is to drive, or that nobody drives; up to 1,000 of those whose
    /// uids come after `after`.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn due_runs(&self, after: Option<&SessionUid>) -> Result<Vec<SessionUid>, JournalError> {
        let ranges = [Some(self.incarnation), None].map(|node| keys::runs(node, after));
        let mut due = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let ranges = ranges.clone();
                async move {
                    let mut due = Vec::new();
                    for range in ranges {
                        let page =
                            transaction.get_range(&RangeRead::forward(range).limit(PAGE), Isolation::Snapshot).await?;
                        for row in page.rows {
                            due.push(keys::decode_run(&row.key).ok_or_else(|| refuse(CORRUPT))?);
                        }
                    }
                    Ok(due)
                }
                .boxed()
            })
            .await?;
        due.sort_unstable();
        due.dedup();
        due.truncate(PAGE);
        Ok(due)
    }

    /// The first invocation of the queue.
    ///
    /// # Errors
    /// [`RunError`].
    pub async fn next_invocation(&self, run: &Run) -> Result<Option<InvocationId>, RunError> {
        Ok(self.queue(run, 1).await?.into_iter().next())
    }

    /// The first invocations of the queue, at most so many. It costs as much as the first one alone.
    ///
    /// # Errors
    /// [`RunError`].
    pub async fn queue(&self, run: &Run, most: usize) -> Result<Vec<InvocationId>, RunError> {
        let queue = self
            .store
            .transact::<_, RunError, _>(|transaction, _| {
                let run = run.clone();
                async move {
                    if !is_running(transaction, &run).await? {
                        return Err(refuse(RunError::Lost));
                    }
                    read_queue(transaction, &SessionKeys::new(&run.session), most).await
                }
                .boxed()
            })
            .await?;
        Ok(queue)
    }
}

/// Whether nobody else has come to drive an instance, read so that this conflicts.
pub(super) async fn is_running<E: From<Corrupt>>(
    transaction: &mut Transaction,
    run: &Run,
) -> Result<bool, TransactError<E>> {
    let runner = Kept::<RunnerRow>::read(transaction, &SessionKeys::new(&run.session).runner()).await?;
    Ok(runner.is_some_and(|runner| run.is_in(&runner.row)))
}

/// Leaves an instance whose queue has become empty. Returns whether it is driven on.
pub(super) async fn leave_if_idle<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
) -> Result<bool, TransactError<E>> {
    let goes_on = first_of_queue(transaction, keys).await?.is_some();
    if !goes_on && let Some(mut runner) = Kept::<RunnerRow>::read(transaction, &keys.runner()).await? {
        give_up(transaction, keys, &mut runner);
    }
    Ok(goes_on)
}

async fn claim(
    transaction: &mut Transaction,
    keys: &SessionKeys,
    node: Incarnation,
) -> Result<Option<Run>, TransactError<RunError>> {
    let Some(runner) = Kept::<RunnerRow>::read(transaction, &keys.runner()).await? else { return Ok(None) };
    let is_free = runner.row.node == 0 || runner.row.node == node.number();
    if !is_free || first_of_queue(transaction, keys).await?.is_none() {
        return Ok(None);
    }
    let epoch = hand_over(transaction, keys, runner, node);
    Ok(Some(Run { session: keys.uid().clone(), node, epoch }))
}

/// Makes `node` the one that drives an instance, under the next epoch.
pub(super) fn hand_over(
    transaction: &mut Transaction,
    keys: &SessionKeys,
    mut runner: Kept<RunnerRow>,
    node: Incarnation,
) -> u64 {
    transaction.clear(&keys::run(Incarnation::from_number(runner.row.node), keys.uid()));
    transaction.set(&keys::run(Some(node), keys.uid()), &[]);
    runner.row.node = node.number();
    runner.row.epoch += 1;
    runner.write(transaction, &keys.runner());
    runner.row.epoch
}

fn give_up(transaction: &mut Transaction, keys: &SessionKeys, runner: &mut Kept<RunnerRow>) {
    transaction.clear(&keys::run(Incarnation::from_number(runner.row.node), keys.uid()));
    runner.row.node = 0;
    runner.write(transaction, &keys.runner());
}

/// The first invocation of the queue, read so that the arrival of one in an empty queue conflicts.
async fn first_of_queue<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
) -> Result<Option<InvocationId>, TransactError<E>> {
    Ok(read_queue(transaction, keys, 1).await?.into_iter().next())
}

async fn read_queue<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
    most: usize,
) -> Result<Vec<InvocationId>, TransactError<E>> {
    let page = transaction.get_range(&RangeRead::forward(keys.queue()).limit(most), Isolation::Serializable).await?;
    let id = |row: &KeyValue| {
        let row: QueuedRow = rows::decode(CORRUPT.what, &row.value)?;
        decode_uuid(CORRUPT.what, &row.invocation).map(InvocationId::new)
    };
    page.rows.iter().map(id).collect::<Result<_, _>>().map_err(refuse)
}
