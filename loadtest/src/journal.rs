//! `loadtest journal`: durable records, and what the disk and bare SQLite do on the same directory, or what a FoundationDB
//! cluster does by itself.

mod appends;
#[cfg(feature = "fdb")]
mod cluster;
mod disk;
mod sqlite;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use appends::Appends;

/// Bytes of text in each record.
const RECORD_BYTES: usize = 100;
/// Writers of the contended measurement, each on a session of its own.
const WRITERS: usize = 64;
const ROUNDS: u32 = 3;
const SECONDS: u64 = 2;

/// Measures durable records per second
#[derive(Args)]
pub struct Journal {
    /// Times that everything is measured, one after the other; the medians are reported
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,

    /// How long each figure is measured in a round
    #[arg(long, default_value_t = SECONDS, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,

    /// Directory on the disk to measure; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,

    /// Cluster file of a FoundationDB cluster to measure instead; what is written there lies in a subspace of its own, and is
    /// removed
    #[cfg(feature = "fdb")]
    #[arg(long, value_name = "PATH")]
    fdb: Option<PathBuf>,
}

/// The medians of the rounds, per second.
pub struct Report {
    /// fdatasync after a write of one page.
    pub syncs: f64,
    /// Transactions of one insert in bare SQLite (WAL, synchronous FULL).
    pub sqlite: f64,
    /// The journal with one writer.
    pub one_writer: Appends,
    /// The journal with 64.
    pub many_writers: Appends,
}

impl Journal {
    /// With everything but the directory as by default.
    pub fn new(directory: &Path) -> Self {
        Self {
            rounds: ROUNDS,
            seconds: SECONDS,
            directory: directory.to_owned(),
            #[cfg(feature = "fdb")]
            fdb: None,
        }
    }

    pub async fn run(&self) -> anyhow::Result<()> {
        #[cfg(feature = "fdb")]
        if let Some(cluster_file) = &self.fdb {
            println!("{}", cluster::measure(cluster_file, self.rounds, Duration::from_secs(self.seconds)).await?);
            return Ok(());
        }
        println!("{}", self.measure().await?);
        Ok(())
    }

    /// Measures everything in turn, so that what else happens on the machine disturbs all figures alike.
    pub async fn measure(&self) -> anyhow::Result<Report> {
        let mut rounds = Vec::new();
        for _ in 0..self.rounds {
            rounds.push(self.round().await?);
        }
        Ok(Report::median(&rounds))
    }

    async fn round(&self) -> anyhow::Result<Report> {
        let bound = Duration::from_secs(self.seconds);
        let directory = tempfile::tempdir_in(&self.directory)?;
        let file = |name: &str| directory.path().join(name);
        Ok(Report {
            syncs: disk::syncs_per_second(&file("probe"), bound)?,
            sqlite: sqlite::inserts_per_second(&file("bare.db"), bound)?,
            one_writer: Appends::measure(&file("one.db"), 1, bound).await?,
            many_writers: Appends::measure(&file("many.db"), WRITERS, bound).await?,
        })
    }
}

impl Report {
    fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure));
        Self {
            syncs: of(|round| round.syncs),
            sqlite: of(|round| round.sqlite),
            one_writer: Appends {
                per_second: of(|round| round.one_writer.per_second),
                commits_per_sync: of(|round| round.one_writer.commits_per_sync),
            },
            many_writers: Appends {
                per_second: of(|round| round.many_writers.per_second),
                commits_per_sync: of(|round| round.many_writers.commits_per_sync),
            },
        }
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { syncs, sqlite, one_writer, many_writers } = self;
        let rows = [
            ("fdatasync of one page", *syncs, 1.0),
            ("bare SQLite, one insert each", *sqlite, 1.0),
            ("journal, 1 writer", one_writer.per_second, one_writer.commits_per_sync),
            ("journal, 64 writers", many_writers.per_second, many_writers.commits_per_sync),
        ];
        writeln!(f, "| durable, this disk | per s | x SQLite | commits/fsync |")?;
        write!(f, "|---|--:|--:|--:|")?;
        rows.iter().try_for_each(|(name, rate, per_sync)| {
            write!(f, "\n| {name} | {rate:.0} | {:.2} | {per_sync:.1} |", rate / sqlite)
        })
    }
}
