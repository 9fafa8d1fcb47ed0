//! `loadtest cluster`: several nodes on one journal, and a quiet session among busy ones.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tokio::runtime::Builder;

use crate::histogram::millis;
use crate::target::Target;
use crate::turns::{Load, Report};

/// Measures echo turns with more and more nodes on one journal, and what a quiet session feels of busy ones
#[derive(Args)]
pub struct Cluster {
    /// Most nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
    nodes: u32,

    /// Turns under way at any time while the numbers of nodes are compared
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,

    /// Busy sessions beside the quiet one
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    busy: u32,

    /// How long each is measured
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,

    /// NATS server between the nodes, such as nats://127.0.0.1:4222; none if not given
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,

    /// Journal of the nodes, as agentsessionsd takes it, instead of a file in the directory
    #[arg(long, value_name = "PLACE")]
    journal: Option<String>,

    /// Directory on the disk to measure; temporary ones in it are used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
}

/// How long the quiet session is quiet before each of its turns.
const QUIET_MS: u64 = 50;
/// Connections of the busy ones: enough for every node to have several.
const CONNECTIONS: u32 = 12;

impl Cluster {
    pub async fn run(&self) -> anyhow::Result<()> {
        println!("Echo turns, {} in flight, on nodes that share a journal:\n", self.in_flight);
        println!("| nodes {}\n|--:{}", head(0), head(1));
        for nodes in 1..=self.nodes {
            let load = self.load(self.in_flight, 0);
            println!("| {nodes} {}", load.run(&self.start(nodes).await?).await?.row());
        }
        println!("\nA session that takes a turn each {QUIET_MS} ms, on {} nodes:\n", self.nodes);
        println!("| session | turns | p50 ms | p99 ms | max ms |\n|---|--:|--:|--:|--:|");
        let quiet = self.load(1, QUIET_MS);
        println!("{}", row("quiet, alone", &aside(quiet.clone(), Arc::new(self.start(self.nodes).await?)).await?));
        let target = Arc::new(self.start(self.nodes).await?);
        let busy = self.load(self.busy, 0);
        let (quiet, busy) = tokio::try_join!(aside(quiet, Arc::clone(&target)), busy.run(&target))?;
        println!("{}", row(&format!("quiet, beside {} busy ones", self.busy), &quiet));
        println!("{}", row("busy", &busy));
        Ok(())
    }

    async fn start(&self, nodes: u32) -> anyhow::Result<Target> {
        let journal = self.journal.iter().map(|place| format!("--journal={place}"));
        let nats = self.nats_url.iter().map(|url| format!("--nats-url={url}"));
        Target::start_nodes(nodes, &self.directory, &journal.chain(nats).collect::<Vec<_>>()).await
    }

    fn load(&self, in_flight: u32, quiet_ms: u64) -> Load {
        Load { in_flight, quiet_ms, seconds: self.seconds, connections: CONNECTIONS, ..Load::default() }
    }
}

/// Runs `load` on a thread of its own: what it feels is the host, and not that the updates of other loads are checked first.
async fn aside(load: Load, target: Arc<Target>) -> anyhow::Result<Report> {
    let run = move || Builder::new_current_thread().enable_all().build()?.block_on(load.run(&target));
    tokio::task::spawn_blocking(run).await?
}

/// A line of the head of the table of loads.
fn head(line: usize) -> &'static str {
    Report::HEAD.lines().nth(line).unwrap_or_default()
}

fn row(session: &str, load: &Report) -> String {
    let turn = load.phases.turn.summary();
    let [p50, p99, max] = [turn.p50, turn.p99, turn.max].map(millis);
    format!("| {session} | {} | {p50} | {p99} | {max} |", turn.count)
}
