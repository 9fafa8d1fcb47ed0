//! Serves one of the built-in harnesses to session hosts. See `--help`.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use harness::node::{Args, Node};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    start_logging();
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("harnessnode: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let (addr, kind) = (args.addr.clone(), args.kind);
    let node = Node::bind(args).await?;
    // The configured port may be 0.
    let address = node.address().map_or_else(|| addr.to_string(), |bound| bound.to_string());
    tracing::info!(address, readyz = %node.readyz()?, ?kind, "serving");
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    };
    Ok(node.serve(stop).await?)
}

/// Text for people, JSON for machines.
fn start_logging() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() { logs.init() } else { logs.json().init() }
}
