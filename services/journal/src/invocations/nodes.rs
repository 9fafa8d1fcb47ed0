//! Which nodes live, and what becomes of what a dead one had.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::FutureExt;
use store::{Isolation, KeyRange, RangeRead, TransactError, Transaction};

use super::attach::write_attachment;
use super::runs::hand_over;
use super::{Attachment, InvocationId};
use crate::error::refuse;
use crate::keys::{self, SessionKeys};
use crate::rows::{AttachmentRow, BeatRow, Kept, RunnerRow};
use crate::{Corrupt, Incarnation, Journal, JournalError, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "heartbeat" };
/// Most attachments or instances that are taken from a dead node in one transaction.
const PAGE: usize = 100;

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The run of a node.
    pub node: Incarnation,
    /// What people call it; empty if it gave no sign.
    pub name: String,
    /// Another number with each sign; 0 for a node that has something and gives no sign.
    pub beat: u64,
}

impl Journal {
    /// Gives a sign of life of this node, which people call `name`.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn beat(&self, name: &str) -> Result<(), JournalError> {
        let key = keys::heartbeat(self.incarnation);
        self.store
            .transact::<_, JournalError, _>(|transaction, _| {
                let (key, name) = (key.clone(), name.to_owned());
                // Beating twice does no harm.
                async move {
                    let mut row = Kept::<BeatRow>::read(transaction, &key).await?.unwrap_or_default();
                    row.row.beat += 1;
                    row.row.name = name;
                    row.write(transaction, &key);
                    Ok(())
                }
                .boxed()
            })
            .await?;
        Ok(())
    }

    /// Gives no more signs of life: a node does so before it ends.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn farewell(&self) -> Result<(), JournalError> {
        self.clear_heartbeat(self.incarnation).await
    }

    /// The last sign of life of every node that gives some, or that holds attachments or drives instances.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn beats(&self) -> Result<Vec<Beat>, JournalError> {
        let beats = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                async move {
                    let mut beats = read_beats(transaction).await?;
                    for range in keys::busy_nodes() {
                        note_busy(transaction, range, &mut beats).await?;
                    }
                    Ok(beats)
                }
                .boxed()
            })
            .await?;
        Ok(beats.into_values().collect())
    }

    /// Takes over what a dead node had: its attachments are detached, and this node drives its instances, which are
    /// returned. May be asked again, and by several nodes at once. A node that was not dead after all is shut out.
    ///
    /// # Errors
    /// [`JournalError`]; what is left undone can be done later.
    pub async fn reap(&self, dead: Incarnation) -> Result<Vec<SessionUid>, JournalError> {
        let mut after = None;
        loop {
            let page = self.rows_of_node(keys::held_by(dead, after.take())).await?;
            let held = page.iter().map(|key| keys::decode_held(key).ok_or(CORRUPT)).collect::<Result<Vec<_>, _>>()?;
            let Some(last) = held.last().cloned() else { break };
            self.detach_all(dead, held).await?;
            after = Some(last);
        }
        let mut taken = Vec::new();
        let mut after = None;
        loop {
            let page = self.rows_of_node(keys::runs(Some(dead), after.as_ref())).await?;
            let runs = page.iter().map(|key| keys::decode_run(key).ok_or(CORRUPT)).collect::<Result<Vec<_>, _>>()?;
            let Some(last) = runs.last().cloned() else { break };
            taken.extend(self.take_runs(dead, runs).await?);
            after = Some(last);
        }
        self.clear_heartbeat(dead).await?;
        Ok(taken)
    }

    async fn rows_of_node(&self, range: KeyRange) -> Result<Vec<Bytes>, JournalError> {
        let page = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let read = RangeRead::forward(range.clone()).limit(PAGE);
                async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
            })
            .await?;
        Ok(page.rows.into_iter().map(|row| row.key).collect())
    }

    async fn detach_all(&self, dead: Incarnation, held: Vec<(SessionUid, InvocationId)>) -> Result<(), JournalError> {
        self.store
            .transact::<_, JournalError, _>(|transaction, _| {
                let held = held.clone();
                // Doing it again changes nothing.
                async move {
                    for (uid, invocation) in held {
                        detach_from(transaction, dead, &uid, invocation).await?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        held.iter().for_each(|(uid, _)| self.note_streams_changed(uid));
        Ok(())
    }

    /// Drives those instances that the dead node drives still; answers with all that this node drives now.
    async fn take_runs(&self, dead: Incarnation, runs: Vec<SessionUid>) -> Result<Vec<SessionUid>, JournalError> {
        let node = self.incarnation;
        let taken = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let runs = runs.clone();
                // What an earlier attempt has taken is found to be this node's.
                async move {
                    let mut taken = Vec::new();
                    for uid in runs {
                        if take_run(transaction, dead, node, &uid).await? {
                            taken.push(uid);
                        }
                    }
                    Ok(taken)
                }
                .boxed()
            })
            .await?;
        taken.iter().for_each(|uid| self.note_streams_changed(uid));
        Ok(taken)
    }

    async fn clear_heartbeat(&self, node: Incarnation) -> Result<(), JournalError> {
        self.store
            .transact::<_, JournalError, _>(|transaction, _| {
                transaction.clear(&keys::heartbeat(node));
                async { Ok(()) }.boxed()
            })
            .await?;
        Ok(())
    }
}

async fn read_beats<E: From<Corrupt>>(
    transaction: &mut Transaction,
) -> Result<BTreeMap<Incarnation, Beat>, TransactError<E>> {
    let mut beats = BTreeMap::new();
    let mut rest = Some(RangeRead::forward(keys::heartbeats()));
    while let Some(read) = rest {
        let page = transaction.get_range(&read, Isolation::Snapshot).await?;
        rest = read.after(&page);
        for row in page.rows {
            let node = keys::decode_node(&row.key).ok_or_else(|| refuse(CORRUPT))?;
            let BeatRow { beat, name } = Kept::decode(&row.value).map_err(refuse)?.row;
            beats.insert(node, Beat { node, name, beat });
        }
    }
    Ok(beats)
}

/// Adds the nodes that have rows in a range, one read for each.
async fn note_busy<E: From<Corrupt>>(
    transaction: &mut Transaction,
    mut range: KeyRange,
    beats: &mut BTreeMap<Incarnation, Beat>,
) -> Result<(), TransactError<E>> {
    loop {
        let read = RangeRead::forward(range.clone()).limit(1);
        let page = transaction.get_range(&read, Isolation::Snapshot).await?;
        let Some(row) = page.rows.first() else { return Ok(()) };
        let node = keys::decode_node(&row.key).ok_or_else(|| refuse(CORRUPT))?;
        beats.entry(node).or_insert_with(|| Beat { node, name: String::new(), beat: 0 });
        range.begin = keys::after_node(&row.key).ok_or_else(|| refuse(CORRUPT))?;
    }
}

async fn detach_from<E: From<Corrupt>>(
    transaction: &mut Transaction,
    dead: Incarnation,
    uid: &SessionUid,
    invocation: InvocationId,
) -> Result<(), TransactError<E>> {
    let key = SessionKeys::new(uid).invocation(invocation).attachment();
    match Kept::<AttachmentRow>::read(transaction, &key).await? {
        Some(row) if row.row.node == dead.number() => {
            let current = Attachment::read(&row.row).map_err(refuse)?;
            write_attachment(transaction, uid, invocation, row, &Attachment { holder: None, ..current });
        }
        // What the row under the node says is out of date.
        _ => transaction.clear(&keys::held(dead, uid, invocation)),
    }
    Ok(())
}

/// Whether `node` drives an instance that the dead one drove.
async fn take_run<E: From<Corrupt>>(
    transaction: &mut Transaction,
    dead: Incarnation,
    node: Incarnation,
    uid: &SessionUid,
) -> Result<bool, TransactError<E>> {
    let keys = SessionKeys::new(uid);
    match Kept::<RunnerRow>::read(transaction, &keys.runner()).await? {
        Some(runner) if runner.row.node == dead.number() => {
            hand_over(transaction, &keys, runner, node);
            Ok(true)
        }
        runner => {
            transaction.clear(&keys::run(Some(dead), uid));
            Ok(runner.is_some_and(|runner| runner.row.node == node.number()))
        }
    }
}
