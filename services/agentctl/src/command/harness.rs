//! `agentctl harness`

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use client::{Options, Registry};
use wire::{HarnessSpec, ListHarnessesResponse};

use crate::cli::Common;
use crate::output::Output;

/// Longest wait for an answer; a host gives a harness 10 s to describe itself.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Most harnesses that a host puts on a page.
const MAX_PAGE: i32 = 500;

/// Works with the harnesses that all hosts on a journal share. Needs --server, the registry listener of a host. Prints
/// proto-JSON
#[derive(Args, Debug)]
pub struct Harness {
    #[command(subcommand)]
    command: HarnessCommand,
}

#[derive(Debug, Subcommand)]
enum HarnessCommand {
    Register(Register),
    Get(Get),
    List(List),
    Retire(Retire),
}

/// Registers a harness, or brings a retired one back
#[derive(Args, Debug)]
struct Register {
    /// Name of the harness
    #[arg(long)]
    name: String,

    /// What to run, as proto-JSON; - is standard input
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,
}

/// Shows a harness
#[derive(Args, Debug)]
struct Get {
    /// Name of the harness
    #[arg(long)]
    name: String,

    /// Also ask the harness what it is
    #[arg(long)]
    observe: bool,
}

/// Lists all harnesses by name
#[derive(Args, Debug)]
struct List {
    /// Also those that are retired
    #[arg(long)]
    include_retired: bool,

    /// Harnesses to ask for at once, up to 500; 0 leaves it to the host
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    page_size: i32,
}

/// Stops new sessions on a harness
#[derive(Args, Debug)]
struct Retire {
    /// Name of the harness
    #[arg(long)]
    name: String,

    /// Why, for people
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    reason: String,
}

impl Harness {
    pub async fn run(self, common: &Common) -> anyhow::Result<()> {
        let Some(nodes) = common.nodes()? else {
            bail!("harness commands need --server, the address of a host's registry listener");
        };
        let options = Options { call_timeout: TIMEOUT, ..Options::default() };
        let registry = Registry::connect_with(&nodes, options).await?;
        let mut output = Output::stdout(common.output);
        match self.command {
            HarnessCommand::Register(Register { name, spec }) => {
                output.json(&registry.register(&name, read(&spec)?).await?)?;
            }
            HarnessCommand::Get(Get { name, observe }) => output.json(&registry.get(&name, observe).await?)?,
            HarnessCommand::List(list) => output.json(&list.all(&registry).await?)?,
            HarnessCommand::Retire(Retire { name, reason }) => output.json(&registry.retire(&name, &reason).await?)?,
        }
        Ok(output.flush()?)
    }
}

impl List {
    /// All pages as one.
    async fn all(&self, registry: &Registry) -> anyhow::Result<ListHarnessesResponse> {
        let mut pages = registry.list(self.page_size.min(MAX_PAGE), self.include_retired);
        let mut all = ListHarnessesResponse::default();
        while let Some(harness) = pages.next().await? {
            all.harnesses.push(harness);
        }
        Ok(all)
    }
}

fn read(path: &Path) -> anyhow::Result<HarnessSpec> {
    let text = if path == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a harness spec", path.display()))
}
