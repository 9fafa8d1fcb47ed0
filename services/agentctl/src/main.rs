//! `agentctl`: sessions from the command line, on a host given by `--server` or on one in this process.

mod chain;
mod cli;
mod command;
mod connection;
mod ending;
mod output;
mod progress;

use std::process::ExitCode;

use cli::Cli;

fn main() -> ExitCode {
    match Cli::read(std::env::args_os()) {
        Ok(cli) => ending::of(run(cli)),
        Err(answer) => answer.print(),
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let interrupted = async {
        tokio::signal::ctrl_c().await?;
        Err(ending::Interrupted.into())
    };
    runtime.block_on(async {
        tokio::select! {
            done = command::run(cli) => done,
            stopped = interrupted => stopped,
        }
    })
}
