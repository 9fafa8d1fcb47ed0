//! `loadtest streams`: what stream sessions cost, each figure beside what it is made of, in the same run.

mod codec;
mod output;
mod socket;
mod upload;

use std::fmt;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use env::{TaskKind, Tasks};
use tokio::net::TcpListener;

use crate::target::Target;

/// The example agents' name on the node.
const AGENTS: &str = "agents";
const BATCH_BYTES: usize = 256 << 10;
const CLIENTS: u32 = 200;
const SECONDS: u64 = 5;

/// Measures stream sessions: the codec beside serde_json, an upload beside the journal's own writes, output to many clients
/// beside output to one
#[derive(Args)]
pub struct Streams {
    /// Bytes of a batch of the upload
    #[arg(long, default_value_t = BATCH_BYTES, value_parser = parse_batch)]
    batch: usize,

    /// Clients that output goes to
    #[arg(long, default_value_t = CLIENTS, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    clients: u32,

    /// How long each figure is measured
    #[arg(long, default_value_t = SECONDS, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,

    /// Directory on the disk to measure; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
}

fn parse_batch(text: &str) -> Result<usize, String> {
    let bytes = text.parse().map_err(|_| "not a number of bytes".to_owned())?;
    if (1..=1 << 20).contains(&bytes) { Ok(bytes) } else { Err("a batch has 1 byte to 1 MiB".to_owned()) }
}

/// Every figure.
pub struct Report {
    codec: Vec<codec::Ratio>,
    upload: upload::Report,
    output: output::Report,
}

impl Streams {
    /// With everything but the directory as by default.
    pub fn new(directory: &Path) -> Self {
        Self { batch: BATCH_BYTES, clients: CLIENTS, seconds: SECONDS, directory: directory.to_owned() }
    }

    pub async fn run(&self) -> anyhow::Result<()> {
        println!("{}", self.measure().await?);
        Ok(())
    }

    pub async fn measure(&self) -> anyhow::Result<Report> {
        let bound = Duration::from_secs(self.seconds);
        let codec = codec::measure(bound / 10);
        let flags = ["--model=echo".to_owned(), format!("--harness={AGENTS}={}", serve().await?)];
        let streams = ["--streams-addr=127.0.0.1:0".to_owned(), "--streams-development".to_owned()];
        let target = Target::start(&self.directory, &[&flags[..], &streams].concat()).await?;
        let address = target.streams_address()?;
        let upload = upload::Report {
            batch: self.batch,
            bare: upload::bare(&self.directory, self.batch, bound).await?,
            end_to_end: upload::end_to_end(address, self.batch, bound).await?,
        };
        let output = output::there_and_back(address, self.clients, bound).await?;
        Ok(Report { codec, upload, output })
    }
}

/// Serves the example agents from this process until it ends.
async fn serve() -> anyhow::Result<std::net::SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Tasks::default().spawn("agents", TaskKind::Background, async move {
        // If they cannot be served, the first invocation fails and says so.
        let _ = sdk::serve(harness::example_agents(), listener, pending()).await;
    });
    Ok(address)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| strict decoding with schema | MB/s | serde_json, MB/s | x time |\n|---|--:|--:|--:|")?;
        self.codec.iter().try_for_each(|ratio| writeln!(f, "{ratio}"))?;
        writeln!(f, "\n{}\n", self.upload)?;
        write!(f, "{}", self.output)
    }
}
