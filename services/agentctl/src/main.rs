//! `agentctl`: sessions from the command line, on a host given by `--server` or on one in this process.

mod backup;
mod chain;
mod cli;
mod command;
mod connection;
mod ending;
mod output;
mod progress;

use std::process::ExitCode;

use cli::Cli;
use mimalloc::MiMalloc;

/// Much of what one thread of a node allocates is freed by another, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match Cli::read(std::env::args_os()) {
        Ok(cli) => ending::of(command::run(cli)),
        Err(answer) => answer.print(),
    }
}
