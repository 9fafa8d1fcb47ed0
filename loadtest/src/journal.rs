//! `loadtest journal`: durable records, and what the disk and bare SQLite do on the same directory, or what a FoundationDB
//! cluster does by itself.

mod appends;
#[cfg(feature = "fdb")]
mod cluster;
mod disk;
mod report;
mod sqlite;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::runtime::Runtime;

use crate::local::LocalJournal;
use appends::Appends;
use disk::Disk;
use report::{Report, Round};
use sqlite::BareSqlite;

/// Bytes of text in each record.
const RECORD_BYTES: usize = 100;
/// Writers of the contended measurement, each on a session of its own.
const WRITERS: usize = 64;
const ROUNDS: u32 = 15;
const MILLISECONDS: u64 = 400;

/// Measures durable records per second
#[derive(Args)]
pub struct Journal {
    /// Times that everything is measured, one after the other; the medians are reported. What a disk does changes from one
    /// second to the next, so many short rounds tell more than a few long ones
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=999))]
    rounds: u32,

    /// How long each figure is measured in a round
    #[arg(long, default_value_t = MILLISECONDS, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    milliseconds: u64,

    /// Directory on the disk to measure; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,

    /// Cluster file of a FoundationDB cluster to measure instead; what is written there lies in a subspace of its own, and is
    /// removed
    #[cfg(feature = "fdb")]
    #[arg(long, value_name = "PATH")]
    fdb: Option<PathBuf>,
}

impl Journal {
    /// With everything but the directory as by default.
    pub fn new(directory: &Path) -> Self {
        Self {
            rounds: ROUNDS,
            milliseconds: MILLISECONDS,
            directory: directory.to_owned(),
            #[cfg(feature = "fdb")]
            fdb: None,
        }
    }

    pub async fn run(&self) -> anyhow::Result<()> {
        #[cfg(feature = "fdb")]
        if let Some(cluster_file) = &self.fdb {
            println!("{}", cluster::measure(cluster_file, self.rounds, self.bound()).await?);
            return Ok(());
        }
        println!("{}", self.measure().await?);
        Ok(())
    }

    /// Measures everything in turn, so that what else happens on the machine disturbs all figures alike.
    pub async fn measure(&self) -> anyhow::Result<Report> {
        let directory = tempfile::tempdir_in(&self.directory)?;
        let (path, rounds, bound) = (directory.path().to_owned(), self.rounds, self.bound());
        // A runtime with a thread per core, as a node has.
        let measured = tokio::task::spawn_blocking(move || Runtime::new()?.block_on(measure(&path, rounds, bound)));
        measured.await?
    }

    fn bound(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }
}

/// Whatever is measured stays open for all rounds: what it does but once, as making room in its files, counts as it does in
/// service.
async fn measure(directory: &Path, rounds: u32, bound: Duration) -> anyhow::Result<Report> {
    let file = |name: &str| directory.join(name);
    let (disk, sqlite) = (Disk::open(&file("probe"))?, BareSqlite::open(&file("bare.db"))?);
    let (one, many) = (LocalJournal::open(&file("one.db")).await?, LocalJournal::open(&file("many.db")).await?);
    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(Round {
            syncs: disk.syncs_per_second(bound)?,
            sqlite: sqlite.inserts_per_second(bound)?,
            one_writer: Appends::measure(&one, 1, bound).await?,
            many_writers: Appends::measure(&many, WRITERS, bound).await?,
        });
    }
    one.close().await;
    many.close().await;
    Ok(Report { rounds: measured })
}
