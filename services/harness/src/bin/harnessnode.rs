//! Serves one of the built-in harnesses to session hosts. See `--help`.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread;

use anyhow::Context;
use clap::Parser;
use harness::node::{Args, Node};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
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
    let (addr, kind, stop_with_stdin) = (args.addr.clone(), args.kind, args.stop_with_stdin);
    let node = Node::bind(args).await?;
    // The configured port may be 0.
    let address = node.address().map_or_else(|| addr.to_string(), |bound| bound.to_string());
    tracing::info!(address, readyz = %node.readyz()?, ?kind, "serving");
    let stop = async {
        tokio::select! {
            () = stdin_closed(), if stop_with_stdin => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    };
    Ok(node.serve(stop).await?)
}

/// Resolves when standard input ends. It is read in a thread that the end of the process does not wait for.
async fn stdin_closed() {
    let closed = CancellationToken::new();
    let closing = closed.clone().drop_guard();
    thread::spawn(move || {
        // An input that cannot be read is as good as closed.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(closing);
    });
    closed.cancelled().await;
}

/// Text for people, JSON for machines.
fn start_logging() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    if io::stderr().is_terminal() { logs.init() } else { logs.json().init() }
}
