//! The commands, one file each.

mod cancel;
mod conformance;
mod create;
mod decide;
mod delete;
mod exec;
mod export;
mod fork;
mod get;
mod harness;
mod import;
mod invoke;
mod list;
mod pending;
mod replay;
mod resume;
mod suspend;
mod verify;
mod version;
mod watch;

use clap::Subcommand;
use client::Client;

use crate::cli::{Cli, Common};
use crate::connection::Connection;
use crate::ending::Interrupted;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    OnHost(HostCommand),
    Import(import::Import),
    Invoke(Box<invoke::Invoke>),
    Conformance(conformance::Conformance),
    Harness(harness::Harness),
    Version(version::Version),
}

/// What to do on a host.
#[derive(Debug, Subcommand)]
pub enum HostCommand {
    Create(create::Create),
    List(list::List),
    Get(get::Get),
    Exec(exec::Exec),
    Replay(replay::Replay),
    Watch(watch::Watch),
    Fork(fork::Fork),
    Delete(delete::Delete),
    Suspend(suspend::Suspend),
    Cancel(cancel::Cancel),
    Resume(resume::Resume),
    Pending(pending::Pending),
    /// Approves the tool call that a session waits for, and goes on with its turn
    Approve(decide::Decide),
    /// Denies the tool call that a session waits for, and goes on with its turn
    Deny(decide::Decide),
    Verify(verify::Verify),
    Export(export::Export),
}

/// What a command works with.
pub struct Context {
    /// The host.
    pub client: Client,
    /// What was asked for besides the command's own flags.
    pub common: Common,
    /// Where its results go.
    pub output: Output,
}

/// Runs the command of `cli`.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    let Cli { command, common } = cli;
    match command {
        Command::Version(command) => command.run(Output::stdout(common.output)),
        Command::OnHost(HostCommand::Verify(verify::Verify { file: Some(file), .. })) => {
            verify::offline(&file, Output::stdout(common.output))
        }
        Command::OnHost(HostCommand::Export(command)) if command.all => {
            tokio::runtime::Runtime::new()?.block_on(or_interrupted(command.run_all(&common)))
        }
        Command::Import(command) => command.run(&common),
        Command::Invoke(command) => command.run(&common),
        Command::Conformance(command) => {
            let checking = command.run(Output::stdout(common.output));
            tokio::runtime::Runtime::new()?.block_on(or_interrupted(checking))
        }
        Command::OnHost(command) => tokio::runtime::Runtime::new()?.block_on(run_on_host(command, common)),
        Command::Harness(command) => tokio::runtime::Runtime::new()?.block_on(or_interrupted(command.run(&common))),
    }
}

/// An interrupted command goes away like any client, and a host in this process stops in its orderly way.
async fn run_on_host(command: HostCommand, common: Common) -> anyhow::Result<()> {
    let (connection, client) = Connection::open(&common).await?;
    let output = Output::stdout(common.output);
    let running = Box::pin(command.run(Context { client, common, output }));
    let done = or_interrupted(running).await;
    connection.close().await;
    done
}

async fn or_interrupted<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        done = command => done,
        pressed = tokio::signal::ctrl_c() => Err(pressed.map_or_else(Into::into, |()| Interrupted.into())),
    }
}

impl HostCommand {
    async fn run(self, mut context: Context) -> anyhow::Result<()> {
        let done = match self {
            Self::Create(command) => command.run(&mut context).await,
            Self::List(command) => command.run(&mut context).await,
            Self::Get(command) => command.run(&mut context).await,
            Self::Exec(command) => command.run(&mut context).await,
            Self::Replay(command) => command.run(&mut context).await,
            Self::Watch(command) => command.run(&mut context).await,
            Self::Fork(command) => command.run(&mut context).await,
            Self::Delete(command) => command.run(&mut context).await,
            Self::Suspend(command) => command.run(&mut context).await,
            Self::Cancel(command) => command.run(&mut context).await,
            Self::Resume(command) => command.run(&mut context).await,
            Self::Pending(command) => command.run(&mut context).await,
            Self::Approve(command) => command.run(true, &mut context).await,
            Self::Deny(command) => command.run(false, &mut context).await,
            Self::Verify(command) => command.run(&mut context).await,
            Self::Export(command) => command.run(&mut context).await,
        };
        // What a failed command printed before it failed is shown too.
        let shown = context.output.end_line().and_then(|()| context.output.flush());
        done.and(shown.map_err(anyhow::Error::from))
    }
}
