//! `loadtest reads`: what reading and checking a log costs.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use futures::TryStreamExt;
use journal::{SeqRange, SessionUid};
use tokio::time::Instant;
use wire::verify::Verifier;

use crate::local::{LocalJournal, new_writer, output};

/// Bytes of text in each record.
const RECORD_BYTES: usize = 1024;
/// Records written in one append.
const BATCH: u32 = 100;
const RECORDS: u32 = 50_000;

/// Measures replay against a bare scan of the same rows, and the check of an export
#[derive(Args)]
pub struct Reads {
    /// Records of the log
    #[arg(long, default_value_t = RECORDS, value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    records: u32,

    /// Directory on the disk to measure; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
}

/// Records of one kilobyte per second, on one core.
pub struct Report {
    pub scan: f64,
    pub replay: f64,
    pub verify: f64,
}

impl Reads {
    /// With everything but the directory as by default.
    pub fn new(directory: &Path) -> Self {
        Self { records: RECORDS, directory: directory.to_owned() }
    }

    pub async fn run(&self) -> anyhow::Result<()> {
        println!("{}", self.measure().await?);
        Ok(())
    }

    pub async fn measure(&self) -> anyhow::Result<Report> {
        let directory = tempfile::tempdir_in(&self.directory)?;
        let local = LocalJournal::open(&directory.path().join("journal.db")).await?;
        let uid = self.fill(&local).await?;
        let report = Report {
            scan: self.scan(&local).await?,
            replay: self.replay(&local, &uid).await?,
            verify: self.verify(&local, &uid).await?,
        };
        local.close().await;
        Ok(report)
    }

    async fn fill(&self, local: &LocalJournal) -> anyhow::Result<SessionUid> {
        let mut writer = new_writer(&local.journal).await?;
        for _ in 0..self.records.div_ceil(BATCH) {
            let events = (0..BATCH).map(|_| output(RECORD_BYTES)).collect();
            local.journal.append(&mut writer, events).await?;
        }
        Ok(writer.uid().clone())
    }

    async fn scan(&self, local: &LocalJournal) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let bytes = local.scan().await?;
        ensure!(bytes > self.records as usize * RECORD_BYTES, "the scan missed rows");
        self.rate(self.records as usize, begun)
    }

    async fn replay(&self, local: &LocalJournal, uid: &SessionUid) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let records = local.journal.records(uid, SeqRange::ALL);
        let count = records.try_fold(0, async |count, _| Ok(count + 1)).await?;
        self.rate(count, begun)
    }

    /// What `agentctl verify --file` does with an export.
    async fn verify(&self, local: &LocalJournal, uid: &SessionUid) -> anyhow::Result<f64> {
        let records = local.journal.records(uid, SeqRange::ALL).map_err(anyhow::Error::from);
        let lines: Vec<_> = records.and_then(async |record| Ok(serde_json::to_vec(&record)?)).try_collect().await?;
        let begun = Instant::now();
        let mut verifier = Verifier::new();
        for line in &lines {
            verifier.check(&serde_json::from_slice(line)?)?;
        }
        self.rate(lines.len(), begun)
    }

    fn rate(&self, records: usize, begun: Instant) -> anyhow::Result<f64> {
        ensure!(records >= self.records as usize, "{records} records instead of {}", self.records);
        Ok(records as f64 / begun.elapsed().as_secs_f64())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scan, replay, verify } = self;
        writeln!(f, "| 1 kB records, one core | per s | x scan |")?;
        writeln!(f, "|---|--:|--:|")?;
        writeln!(f, "| scan of the same rows | {scan:.0} | 1.00 |")?;
        writeln!(f, "| replay | {replay:.0} | {:.2} |", replay / scan)?;
        write!(f, "| offline verify of a JSON export | {verify:.0} | {:.2} |", verify / scan)
    }
}
