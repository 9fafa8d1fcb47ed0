//! `loadtest table`: every figure of docs/performance.md.

use std::path::PathBuf;

use clap::Args;

use crate::history::History;
use crate::journal::Journal;
use crate::reads::Reads;
use crate::streams::Streams;
use crate::target::Target;
use crate::three_step::ThreeStep;
use crate::turns::Load;

/// Measures everything, one after the other, and prints it as docs/performance.md shows it
#[derive(Args)]
pub struct Table {
    /// Directory on the disk to measure; temporary ones in it are used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
}

/// Turns under way at once in the measurement of echo turns.
const ECHO_IN_FLIGHT: [u32; 2] = [1, 64];

impl Table {
    pub async fn run(&self) -> anyhow::Result<()> {
        println!("{}\n", Journal::new(&self.directory).measure().await?);
        println!("{}\n", Reads::new(&self.directory).measure().await?);
        println!("{}\n", History::new(&self.directory).measure().await?);
        println!("Echo turns, harness in the node:\n");
        for in_flight in ECHO_IN_FLIGHT {
            let target = Target::start(&self.directory, &[]).await?;
            println!("{}\n", Load { in_flight, ..Load::default() }.run(&target).await?);
        }
        println!("Turns of three model calls, harness over gRPC:\n");
        println!("{}\n", ThreeStep::new(&self.directory).measure().await?);
        println!("{}", Streams::new(&self.directory).measure().await?);
        Ok(())
    }
}
