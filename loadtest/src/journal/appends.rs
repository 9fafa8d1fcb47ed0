//! The journal on the embedded engine.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use futures::TryStreamExt;
use futures::future::try_join_all;
use journal::{Journal, SeqRange, Writer};
use store::embedded::Stats;
use tokio::time::Instant;
use wire::verify::Verifier;

use super::RECORD_BYTES;
use crate::local::{LocalJournal, output};

/// Appends of one record each.
pub struct Appends {
    pub per_second: f64,
    pub commits_per_sync: f64,
}

impl Appends {
    /// Lets `writers` append for `bound`, each to a session of its own, and reads everything back.
    pub async fn measure(path: &Path, writers: usize, bound: Duration) -> anyhow::Result<Self> {
        let local = LocalJournal::open(path).await?;
        let mut held = Vec::with_capacity(writers);
        for _ in 0..writers {
            held.push(local.new_writer().await?);
        }

        let before = local.stats();
        let begun = Instant::now();
        let counts = try_join_all(held.iter_mut().map(|writer| append(&local.journal, writer, begun + bound))).await?;
        let took = begun.elapsed();
        let commits_per_sync = commits_per_sync(before, local.stats());

        for (writer, count) in held.iter().zip(&counts) {
            check(&local.journal, writer, *count).await?;
        }
        local.close().await;
        let total: u64 = counts.iter().sum();
        Ok(Self { per_second: total as f64 / took.as_secs_f64(), commits_per_sync })
    }
}

async fn append(journal: &Journal, writer: &mut Writer, deadline: Instant) -> anyhow::Result<u64> {
    let mut count = 0;
    while Instant::now() < deadline {
        journal.append(writer, vec![output(RECORD_BYTES)]).await?;
        count += 1;
    }
    Ok(count)
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
