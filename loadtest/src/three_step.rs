//! `loadtest three-step`: durable turns of three mediated model calls, over gRPC on both sides.

use std::fmt;
use std::future::pending;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use env::{TaskKind, Tasks};
use sdk::{Failure, Harness, Sink, Turn};
use tokio::net::TcpListener;
use wire::{Capabilities, HarnessDescriptor, Message, ModelCall, Resumability};

use crate::target::Target;
use crate::turns::{self, Load};

/// The harness's name on the node.
const NAME: &str = "three-step";
/// Model calls in each turn.
const STEPS: usize = 3;
const IN_FLIGHT: [u32; 2] = [32, 128];
const SECONDS: u64 = 10;

/// Measures durable turns of three steps: model calls of a harness in this process, answered by the node's echo model
#[derive(Args)]
pub struct ThreeStep {
    /// Turns under way at once; each is measured on a node of its own
    #[arg(long, value_delimiter = ',', default_values_t = IN_FLIGHT, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: Vec<u32>,

    /// How long each is measured
    #[arg(long, default_value_t = SECONDS, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,

    /// Directory on the disk to measure; a temporary one in it is used, and removed
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
}

/// The loads, in the order of the flag.
pub struct Report(Vec<turns::Report>);

impl ThreeStep {
    /// With everything but the directory as by default.
    pub fn new(directory: &Path) -> Self {
        Self { in_flight: IN_FLIGHT.into(), seconds: SECONDS, directory: directory.to_owned() }
    }

    pub async fn run(&self) -> anyhow::Result<()> {
        println!("{}", self.measure().await?);
        Ok(())
    }

    pub async fn measure(&self) -> anyhow::Result<Report> {
        let harness = serve().await?;
        let mut reports = Vec::new();
        for in_flight in &self.in_flight {
            // Remote harnesses need a model to be named; the started node answers by its echo model all the same.
            let flags = ["--model=echo".to_owned(), format!("--harness={NAME}={harness}")];
            let target = Target::start(&self.directory, &flags).await?;
            let load =
                Load { in_flight: *in_flight, seconds: self.seconds, harness: NAME.to_owned(), ..Load::default() };
            reports.push(load.run(&target).await?);
        }
        Ok(Report(reports))
    }
}

/// Serves the harness from this process until it ends.
async fn serve() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Tasks::default().spawn("harness", TaskKind::Background, async move {
        // If it cannot serve, the first turn fails and says so.
        let _ = sdk::serve(Steps, listener, pending()).await;
    });
    Ok(address)
}

/// Asks the model three times, each time with the last answer.
struct Steps;

#[sdk::async_trait]
impl Harness for Steps {
    fn describe(&self) -> HarnessDescriptor {
        let capabilities = Capabilities { resumability: Resumability::StatelessReplay.into(), ..Default::default() };
        HarnessDescriptor {
            id: NAME.into(),
            version: "1".into(),
            capabilities: Some(capabilities),
            ..Default::default()
        }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let mut text = turn.inputs().last().map(Message::text_content).unwrap_or_default();
        for _ in 0..STEPS {
            let messages = vec![Message::text("user", text)];
            let answer = sink.model(ModelCall { model: "echo".into(), messages, ..Default::default() }).await?;
            text = answer.text_content();
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(turns::Report::HEAD)?;
        self.0.iter().try_for_each(|report| write!(f, "\n{}", report.row()))
    }
}
