//! A harness whose turn has one effect of each kind.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sdk::{Failure, Harness, Sink, Turn};
use support::{ModelServer, NodeBuilder, TOOL, ToolServer, serve_harness};
use tokio::time::sleep;
use wire::EventKind::{self, EventEnd, EventExecutionStart, EventInput, EventModelCall};
use wire::EventKind::{EventOutput, EventToolCall, EventToolResult};
use wire::{HarnessDescriptor, Message, ModelCall, ToolCall};

/// The records of an uninterrupted turn: seven commits, since START and INPUT are one.
pub const TURN: [EventKind; 8] = [
    EventExecutionStart,
    EventInput,
    EventModelCall,
    EventOutput,
    EventToolCall,
    EventToolResult,
    EventOutput,
    EventEnd,
];
/// Commits of such a turn.
pub const COMMITS: u32 = 7;

/// Asks the model, runs the tool, and says what came of it.
struct Worker {
    /// Pause before each of it in the first run of a turn. A run that goes on with it has lost time enough.
    pace: Duration,
    begun: Mutex<BTreeSet<String>>,
}

impl Worker {
    fn pace_of(&self, turn: &Turn) -> Duration {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.insert(turn.execution().to_owned()) { self.pace } else { Duration::ZERO }
    }
}

/// The tool call of a turn.
pub fn call(execution: &str) -> ToolCall {
    ToolCall { id: "call".into(), tool: TOOL.into(), idempotency_key: format!("{execution}/1"), ..ToolCall::default() }
}

#[sdk::async_trait]
impl Harness for Worker {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "worker".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let pace = self.pace_of(&turn);
        sleep(pace).await;
        sink.model(ModelCall { messages: turn.inputs().to_vec(), ..ModelCall::default() }).await?;
        sleep(pace).await;
        let result = sink.tool(call(turn.execution())).await?;
        sleep(pace).await;
        sink.output(Message { role: "assistant".into(), parts: result.content }).await?;
        Ok(())
    }
}

/// What the turns of all nodes work with.
pub struct Outside {
    pub model: ModelServer,
    pub tools: ToolServer,
    harness: String,
}

impl Outside {
    pub async fn start(model: ModelServer) -> Self {
        Self::paced(model, Duration::ZERO).await
    }

    /// One whose harness takes its time before each thing that it does.
    pub async fn paced(model: ModelServer, pace: Duration) -> Self {
        let worker = Worker { pace, begun: Mutex::default() };
        Self { model, tools: ToolServer::start().await, harness: serve_harness(worker).await }
    }

    /// A node in `directory` whose harness `worker` works with this.
    pub fn node(&self, directory: &Path) -> NodeBuilder {
        let builder = NodeBuilder::new(directory)
            .flag("--model", "m")
            .flag("--model-base-url", self.model.base_url())
            .flag("--harness", format!("worker={}", self.harness))
            .flag("--log-filter", "warn");
        self.tools.node(builder, directory)
    }
}
