//! `loadtest reads`: what reading and checking a log costs.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use futures::TryStreamExt;
use journal::{SeqRange, SessionUid};
use rusqlite::{Connection, OpenFlags};
use tokio::time::Instant;
use wire::LogRecord;
use wire::verify::Verifier;

use crate::local::{LocalJournal, output};

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
        let path = directory.path().join("journal.db");
        let local = LocalJournal::open(&path).await?;
        let uid = self.fill(&local).await?;
        let (replay, export) = self.replay(&local, &uid).await?;
        let scan = self.scan(&path)?;
        local.close().await;
        Ok(Report { scan, replay, verify: self.verify(&export)? })
    }

    async fn fill(&self, local: &LocalJournal) -> anyhow::Result<SessionUid> {
        let mut writer = local.new_writer().await?;
        for _ in 0..self.records.div_ceil(BATCH) {
            let events = (0..BATCH).map(|_| output(RECORD_BYTES)).collect();
            local.journal.append(&mut writer, events).await?;
        }
        Ok(writer.uid().clone())
    }

    async fn replay(&self, local: &LocalJournal, uid: &SessionUid) -> anyhow::Result<(f64, Vec<LogRecord>)> {
        let begun = Instant::now();
        let records: Vec<LogRecord> = local.journal.records(uid, SeqRange::ALL).try_collect().await?;
        Ok((self.rate(records.len(), begun)?, records))
    }

    /// Reads every row of the file, records and the few others, as bare SQLite does.
    fn scan(&self, path: &Path) -> anyhow::Result<f64> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let begun = Instant::now();
        let mut rows = connection.prepare("SELECT key, value FROM entries ORDER BY key")?;
        let mut rows = rows.query([])?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            bytes += row.get_ref(0)?.as_blob()?.len() + row.get_ref(1)?.as_blob()?.len();
        }
        ensure!(bytes > self.records as usize * RECORD_BYTES, "the scan missed rows");
        self.rate(self.records as usize, begun)
    }

    /// What `agentctl verify --file` does with an export.
    fn verify(&self, records: &[LogRecord]) -> anyhow::Result<f64> {
        let lines = records.iter().map(serde_json::to_vec).collect::<Result<Vec<_>, _>>()?;
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
        writeln!(f, "| bare SQLite scan of the rows | {scan:.0} | 1.00 |")?;
        writeln!(f, "| replay | {replay:.0} | {:.2} |", replay / scan)?;
        write!(f, "| offline verify of a JSON export | {verify:.0} | {:.2} |", verify / scan)
    }
}
