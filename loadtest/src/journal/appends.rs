//! Appends to the journal: on the embedded engine, and whatever engine it is on.

use std::time::Duration;

use anyhow::ensure;
use env::{TaskKind, Tasks};
use futures::TryStreamExt;
use futures::future::try_join_all;
use journal::{Journal, SeqRange, Writer};
use store::embedded::Stats;
use tokio::sync::oneshot;
use tokio::time::Instant;
use wire::verify::Verifier;

use super::RECORD_BYTES;
use crate::local::{LocalJournal, new_writer, output};

/// Appends of one record each.
pub struct Appends {
    pub per_second: f64,
    pub commits_per_sync: f64,
}

impl Appends {
    /// Lets `writers` append for `bound`, each to a new session, and reads everything back.
    pub async fn measure(local: &LocalJournal, writers: usize, bound: Duration) -> anyhow::Result<Self> {
        let idle = idle_writers(&local.journal, writers).await?;
        let before = local.stats();
        let per_second = per_second(&local.journal, idle, bound).await?;
        Ok(Self { per_second, commits_per_sync: commits_per_sync(before, local.stats()) })
    }
}

/// So many writers, each on a session of its own.
pub async fn idle_writers(journal: &Journal, count: usize) -> anyhow::Result<Vec<Writer>> {
    let mut idle = Vec::with_capacity(count);
    for _ in 0..count {
        idle.push(new_writer(journal).await?);
    }
    Ok(idle)
}

/// How many records the writers append per second, one each time, while all of them do so for `bound`. They run as tasks on
/// the runtime of the caller. Everything is read back.
pub async fn per_second(journal: &Journal, idle: Vec<Writer>, bound: Duration) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let running = idle.into_iter().map(|writer| start(append(journal.clone(), writer, begun + bound)));
    let written = try_join_all(running.collect::<Vec<_>>()).await?;
    let took = begun.elapsed();

    let mut total = 0;
    for outcome in written {
        let (writer, count) = outcome?;
        check(journal, &writer, count).await?;
        total += count;
    }
    Ok(total as f64 / took.as_secs_f64())
}

/// Runs `work` as a task.
pub fn start<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> oneshot::Receiver<T> {
    let (sender, outcome) = oneshot::channel();
    Tasks::default().spawn("writer", TaskKind::Request, async move {
        // An error means that the measurement has failed already.
        let _ = sender.send(work.await);
    });
    outcome
}

async fn append(journal: Journal, mut writer: Writer, deadline: Instant) -> anyhow::Result<(Writer, u64)> {
    let mut count = 0;
    while Instant::now() < deadline {
        journal.append(&mut writer, vec![output(RECORD_BYTES)]).await?;
        count += 1;
    }
    Ok((writer, count))
}

/// Every acknowledged record is there, once.
async fn check(journal: &Journal, writer: &Writer, count: u64) -> anyhow::Result<()> {
    let mut verifier = Verifier::new();
    let mut records = journal.records(writer.uid(), SeqRange::ALL);
    while let Some(record) = records.try_next().await? {
        verifier.check(&record)?;
    }
    ensure!(verifier.last_seq() == count, "{count} records were acknowledged, {} are there", verifier.last_seq());
    Ok(())
}

fn commits_per_sync(before: Stats, after: Stats) -> f64 {
    let groups = after.groups - before.groups;
    if groups == 0 { 0.0 } else { (after.commits - before.commits) as f64 / groups as f64 }
}
