//! `loadtest history`: what the next turn of a session costs that has had many.

mod host;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use store::counted::Reads;

use host::{IN_PROCESS, OVER_THE_WIRE, Session};

/// Sizes of the table in docs/performance.md.
const TURNS: [u32; 4] = [10, 100, 1_000, 10_000];
/// Turns measured at each size; the median in time counts.
const REPEATS: usize = 5;

/// Measures the next turn of a session with a long history, in store reads and time
#[derive(Args)]
pub struct History {
    /// Turns that the session has had, in ascending order
    #[arg(long, value_delimiter = ',', default_values_t = TURNS, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    turns: Vec<u32>,

    /// Directory on the disk to measure; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
}

/// What one turn has cost.
#[derive(Clone, Copy)]
struct Cost {
    reads: Reads,
    time: Duration,
}

/// A row of the table.
struct Row {
    turns: u32,
    /// The history in the first frame to a harness over the wire, in bytes.
    history: usize,
    /// On a node that has run the turn before.
    warm: Cost,
    /// On a node that has not seen the session.
    cold: Cost,
    warm_wire: Cost,
    cold_wire: Cost,
}

/// The sizes, in the order of the flag.
pub struct Report(Vec<Row>);

impl History {
    /// With everything but the directory as by default.
    pub fn new(directory: &Path) -> Self {
        Self { turns: TURNS.into(), directory: directory.to_owned() }
    }

    pub async fn run(&self) -> anyhow::Result<()> {
        println!("{}", self.measure().await?);
        Ok(())
    }

    pub async fn measure(&self) -> anyhow::Result<Report> {
        ensure!(self.turns.is_sorted(), "--turns must ascend: one session grows from each to the next");
        let directory = tempfile::tempdir_in(&self.directory)?;
        let mut session = Session::create(&directory.path().join("journal.db")).await?;
        let mut rows = Vec::new();
        for &turns in &self.turns {
            session.grow(turns).await?;
            rows.push(Row {
                turns,
                history: session.history_bytes().await?,
                warm: warm(&mut session, IN_PROCESS).await?,
                cold: cold(&mut session, IN_PROCESS).await?,
                warm_wire: warm(&mut session, OVER_THE_WIRE).await?,
                cold_wire: cold(&mut session, OVER_THE_WIRE).await?,
            });
        }
        session.close().await;
        Ok(Report(rows))
    }
}

/// The next turns on a node that keeps what it has read.
async fn warm(session: &mut Session, harness: &str) -> anyhow::Result<Cost> {
    let mut costs = Vec::new();
    session.turn(harness).await?;
    for _ in 0..REPEATS {
        costs.push(session.turn(harness).await?);
    }
    Ok(median(costs))
}

/// The first turns of nodes that have just started.
async fn cold(session: &mut Session, harness: &str) -> anyhow::Result<Cost> {
    let mut costs = Vec::new();
    for _ in 0..REPEATS {
        session.restart().await?;
        costs.push(session.turn(harness).await?);
    }
    Ok(median(costs))
}

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by_key(|cost| cost.time);
    costs[costs.len() / 2]
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reads { requests, rows } = self.reads;
        write!(f, "{requests} | {rows} | {:.1}", self.time.as_secs_f64() * 1e3)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| next turn after | node | harness | reads | rows read | ms | history kB |")?;
        write!(f, "|--:|---|---|--:|--:|--:|--:|")?;
        for row in &self.0 {
            let kilobytes = row.history / 1000;
            let costs = [
                ("warm", IN_PROCESS, row.warm),
                ("cold", IN_PROCESS, row.cold),
                ("warm", OVER_THE_WIRE, row.warm_wire),
                ("cold", OVER_THE_WIRE, row.cold_wire),
            ];
            for (node, harness, cost) in costs {
                write!(f, "\n| {} | {node} | {harness} | {cost} | {kilobytes} |", row.turns)?;
            }
        }
        Ok(())
    }
}
