//! `loadtest`: drives a host, checks what it says while doing so, and measures what it costs.
//!
//! Everything is bounded in time and count and runs on loopback. See docs/performance.md.

mod check;
mod cluster;
mod histogram;
mod history;
mod journal;
mod local;
mod node;
mod process;
mod reads;
mod streams;
mod table;
mod target;
mod three_step;
mod turns;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// Much of what one thread of a node allocates is freed by another, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Loads a host and reports speed and cost.
#[derive(Parser)]
#[command(name = "loadtest", max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Turns(turns::Turns),
    ThreeStep(three_step::ThreeStep),
    Journal(journal::Journal),
    Reads(reads::Reads),
    History(history::History),
    Cluster(cluster::Cluster),
    Streams(streams::Streams),
    Table(table::Table),
    #[command(hide = true)]
    Node(node::RunNode),
}

fn main() -> anyhow::Result<()> {
    let command = match Cli::parse().command {
        Command::Node(node) => return tokio::runtime::Runtime::new()?.block_on(node.run()),
        command => command,
    };
    // One thread: the load generator shares the machine with what it measures.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command.measure())
}

impl Command {
    async fn measure(self) -> anyhow::Result<()> {
        match self {
            Self::Turns(command) => command.run().await,
            Self::ThreeStep(command) => command.run().await,
            Self::Journal(command) => command.run().await,
            Self::Reads(command) => command.run().await,
            Self::History(command) => command.run().await,
            Self::Cluster(command) => command.run().await,
            Self::Streams(command) => command.run().await,
            Self::Table(command) => command.run().await,
            Self::Node(command) => command.run().await,
        }
    }
}
