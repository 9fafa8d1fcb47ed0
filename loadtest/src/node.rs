//! `loadtest node`: a node of this build in a process of its own, for the other commands.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use env::Env;
use node::cli::Invocation;
use node::config::Config;
use node::{Effects, Node, telemetry};
use tokio::io::AsyncReadExt;

/// Runs a node until standard input ends. Its models are always the built-in echo model
#[derive(Args)]
pub struct RunNode {
    /// Flags of agentsessionsd
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<OsString>,
}

impl RunNode {
    pub async fn run(self) -> anyhow::Result<()> {
        let config = config(self.flags)?;
        telemetry::init(&config.log);
        let effects = Effects { models: Arc::new(model::Echo), tools: None };
        let node = Node::start_with(&config, Env::system(), effects).await?;
        // The input ends when the load generator does, however it ends.
        tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
        node.stop().await;
        Ok(())
    }
}

fn config(flags: Vec<OsString>) -> anyhow::Result<Config> {
    match node::cli::parse([OsString::from("loadtest node")].into_iter().chain(flags))? {
        Invocation::Serve(config) => Ok(*config),
        _ => bail!("only flags of a node that serves are taken"),
    }
}
