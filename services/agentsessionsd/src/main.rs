//! A host for durable agent sessions.

use std::io::{self, Write};
use std::process::ExitCode;

use env::Env;
use mimalloc::MiMalloc;
use node::cli::{self, Invocation};
use node::config::{Config, Problems};
use node::{Node, STOP_BOUND, Signals, Telemetry, with_causes};

/// Much of what one thread of a node allocates is freed by another, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok(Invocation::Print(text)) => print(&text),
        Ok(Invocation::CheckConfig(checked)) => check_config(checked),
        Ok(Invocation::Serve(config)) => serve(&config),
        Err(error) => fail(error),
    }
}

fn print(text: &str) -> ExitCode {
    // Whoever reads only the first lines closes the pipe early, which is no failure.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// One line that says why the node does not run.
fn fail(error: impl std::fmt::Display) -> ExitCode {
    // Without standard error there is only the exit code.
    let _ = writeln!(io::stderr(), "agentsessionsd: {error}");
    ExitCode::FAILURE
}

/// Says what is in force, if a node could start with it: what the environment must hold is looked for too.
fn check_config(checked: Result<Box<Config>, Problems>) -> ExitCode {
    match checked {
        Ok(config) => match (Node::check(&config, &Env::system()), config.to_toml()) {
            (Ok(()), Ok(text)) => print(&text),
            (Err(error), _) => fail(error),
            (_, Err(error)) => fail(error),
        },
        Err(problems) => {
            for problem in problems.0 {
                fail(problem);
            }
            ExitCode::FAILURE
        }
    }
}

fn serve(config: &Config) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(error),
    };
    let telemetry = {
        let _in_runtime = runtime.enter();
        match Telemetry::start(config) {
            Ok(telemetry) => telemetry,
            Err(error) => return fail(error),
        }
    };
    let ended = runtime.block_on(run(config));
    telemetry.stop();
    // What still blocks a thread by now does not keep the process alive.
    runtime.shutdown_background();
    match ended {
        Ok(code) => code,
        Err(error) => fail(with_causes(&error)),
    }
}

async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    // Before anything starts, so that a signal during the start is not lost.
    let mut signals = Signals::listen()?;
    let node = Node::start(config, Env::system()).await?;
    let signal = signals.next().await;
    tracing::info!(signal, "stopping; a second signal stops at once");
    let bound = config.drain_timeout.get() + STOP_BOUND;
    tokio::select! {
        stopped = tokio::time::timeout(bound, node.stop()) => {
            Ok(if stopped.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        signal = signals.next() => {
            tracing::warn!(signal, "stopped at once");
            Ok(ExitCode::FAILURE)
        }
    }
}
