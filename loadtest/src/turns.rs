//! `loadtest turns`: sessions side by side, turn after turn.

mod load;
mod report;

use std::path::PathBuf;

use clap::Args;

pub use load::Load;
use load::Phases;
pub use report::Report;

use crate::target::Target;

/// Runs turns on many sessions at once and checks every record
#[derive(Args)]
pub struct Turns {
    /// Address of the host; a node of this build is started, on a journal in a temporary directory, if not given
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,

    /// Process id of that host, if it runs on this machine, to report what it uses
    #[arg(long, value_name = "PID", requires = "server")]
    pid: Option<u32>,

    /// Directory for the journal of a node that is started; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,

    /// Journal of that node, as agentsessionsd takes it, instead of a file in that directory
    #[arg(long, value_name = "PLACE", conflicts_with = "server")]
    journal: Option<String>,

    #[command(flatten)]
    load: Load,
}

impl Turns {
    pub async fn run(self) -> anyhow::Result<()> {
        let journal: Vec<_> = self.journal.into_iter().flat_map(|place| ["--journal".to_owned(), place]).collect();
        let target = match self.server {
            Some(address) => Target::at(address, self.pid),
            None => Target::start(&self.directory, &journal).await?,
        };
        println!("{}", self.load.run(&target).await?);
        Ok(())
    }
}
