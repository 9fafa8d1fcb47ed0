//! A harness outside the node whose turns end when the test says so.

use std::sync::Arc;

use sdk::{Failure, Harness, Sink, Turn};
use support::{Api, NodeBuilder};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tonic::Streaming;
use wire::{ExecRequest, ExecUpdate, HarnessDescriptor, LogRecord, Message};

/// The name that nodes of [`Gate::node`] serve it under.
pub const NAME: &str = "gate";

/// A running harness; stopped when dropped.
pub struct Gate {
    address: String,
    gate: GateHarness,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct GateHarness {
    started: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    /// Serves the harness on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let gate = GateHarness { started: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) };
        let served = gate.clone();
        #[allow(clippy::disallowed_methods, reason = "a test has no task registry")]
        let server = tokio::spawn(async move {
            sdk::serve(served, listener, std::future::pending()).await.unwrap();
        });
        Self { address, gate, server }
    }

    /// A node that knows the harness.
    pub fn node(&self, builder: NodeBuilder) -> NodeBuilder {
        // No turn of this harness asks the model for anything.
        let builder = builder.flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9");
        builder.flag("--harness", format!("{NAME}={}", self.address))
    }

    /// Waits until `turns` more runs have come to the gate.
    pub async fn started(&self, turns: u32) {
        let begun = tokio::time::timeout(support::BOUND, self.gate.started.acquire_many(turns));
        begun.await.expect("the turns come to the gate").unwrap().forget();
    }

    /// Lets `turns` turns end.
    pub fn open(&self, turns: usize) {
        self.gate.open.add_permits(turns);
    }
}

/// A turn at the closed gate.
pub struct LiveTurn {
    /// Its session.
    pub session: String,
    /// What the turn sends from here on.
    pub updates: Streaming<ExecUpdate>,
    /// What it has sent: START and OUTPUT.
    pub records: Vec<LogRecord>,
}

impl LiveTurn {
    /// Begins a turn on a new session and waits until it is at the gate, with its first output recorded.
    pub async fn begin(api: &mut Api) -> Self {
        let session = api.create(NAME).await.metadata.unwrap().uid;
        let exec = ExecRequest { session: session.clone(), ..ExecRequest::default() };
        let mut updates = api.client.exec(exec).await.unwrap().into_inner();
        let mut records = Vec::new();
        while records.len() < 2 {
            records.extend(updates.message().await.unwrap().and_then(support::record));
        }
        Self { session, updates, records }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[sdk::async_trait]
impl Harness for GateHarness {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: NAME.into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, _turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        sink.output(Message::text("assistant", "before the gate")).await?;
        self.started.add_permits(1);
        self.open.acquire().await?.forget();
        sink.output(Message::text("assistant", "after the gate")).await?;
        Ok(())
    }
}
