//! A harness for the suites, started by a node as a process: its memory is a file. It says how many turns it remembers,
//! and how many records it was told. With the argument `gate` it is stateless, and asks for an approval in every turn.

use std::path::PathBuf;
use std::{env, fs, io, process, thread};

use anyhow::Context;
use sdk::{Failure, Harness, Sink, Turn};
use tokio::net::UnixListener;
use wire::{Capabilities, HarnessDescriptor, Message, Resumability, ToolCall};

struct Stateful {
    file: PathBuf,
    gates: bool,
}

#[sdk::async_trait]
impl Harness for Stateful {
    fn describe(&self) -> HarnessDescriptor {
        let resumability =
            if self.gates { Resumability::StatelessReplay } else { Resumability::RequiresMemorySnapshot };
        let capabilities = Capabilities { resumability: resumability.into(), ..Capabilities::default() };
        HarnessDescriptor { id: "stateful".into(), capabilities: Some(capabilities), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let remembered = fs::read_to_string(&self.file)?.len();
        let said = format!("turn {}, told {}", remembered + 1, turn.history().len());
        sink.output(Message::text("assistant", said)).await?;
        if self.gates {
            let idempotency_key = format!("{}/gate", turn.execution());
            let call = ToolCall { id: "gate".into(), tool: "open".into(), idempotency_key, ..ToolCall::default() };
            sink.gated(call).await?;
        }
        fs::write(&self.file, "x".repeat(remembered + 1))?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    thread::spawn(|| {
        // The node that started this process is gone.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
    let address = env::var("HARNESS_ADDR").context("HARNESS_ADDR")?;
    let listener = UnixListener::bind(address.strip_prefix("unix:").context("a Unix socket")?)?;
    let file = env::var_os("HARNESS_STATE").context("HARNESS_STATE")?.into();
    let harness = Stateful { file, gates: env::args().nth(1).as_deref() == Some("gate") };
    Ok(sdk::serve(harness, listener, std::future::pending()).await?)
}
