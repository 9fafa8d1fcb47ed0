//! What a host needs from the outside: harnesses, models, tool executors. Implemented by the crates below this one,
//! scripted in tests.

mod runtime;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use journal::{ExecutionId, JournalError, SessionUid};
use thiserror::Error;
use wire::{Event, HarnessDescriptor, History, Message, ModelCall, ToolCall, ToolResult, harness_spec};

pub use runtime::{AcquireError, Compute, Runtime, RuntimeFailure, SessionPoint};

/// Longest Describe (execution.md §2.3).
pub const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The harnesses that this host can run, by registry name.
#[async_trait]
pub trait HarnessDirectory: Send + Sync + 'static {
    /// The name that a session created without one gets.
    fn default_name(&self) -> &str;

    /// The harness served under `name` here, if any.
    fn find(&self, name: &str) -> Option<ServedHarness>;

    /// The names under which harnesses are served here, in the order in which they are asked for typed agents.
    fn names(&self) -> Vec<String>;

    /// Learns of a harness that was registered a moment ago and is not found yet.
    ///
    /// # Errors
    /// [`JournalError`].
    async fn learn(&self, _name: &str) -> Result<(), JournalError> {
        Ok(())
    }
}

/// The harnesses of this host's own configuration.
pub trait StaticHarnesses: HarnessDirectory {
    /// Names that this build may use for harnesses of its own, configured or not: no registration may take them.
    fn reserved_names(&self) -> Vec<String>;
}

/// What this host can run: finds the runtime for the placement that a registration asks for.
pub trait Placements: Send + Sync + 'static {
    /// The runtime, without dialing anything.
    ///
    /// # Errors
    /// [`Unservable`].
    fn place(&self, placement: &harness_spec::Placement) -> Result<Arc<dyn Runtime>, Unservable>;
}

/// This host cannot serve a placement; the text says why, for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unservable(pub String);

/// A harness in the directory.
#[derive(Clone)]
pub struct ServedHarness {
    /// Where its definition comes from (registry.md §1).
    pub source: HarnessSource,
    /// The descriptor id that Describe must answer; empty: not checked.
    pub descriptor_id: String,
    /// Whether it needs a memory snapshot, as far as this host knows without asking it.
    pub resumability: wire::Resumability,
    /// Where it runs.
    pub runtime: Arc<dyn Runtime>,
}

/// Where the definition of a harness comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HarnessSource {
    /// This host's own configuration.
    Static,
    /// This host's own configuration, while another host has registered the name: it runs nothing (registry.md §4, 1).
    Contested,
    /// The journal's registry, shared by all hosts on it.
    Registered(Registered),
}

/// What a registration allows here (registry.md §4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// Runs sessions; takes new ones if its row is still active when they are created.
    Loaded,
    /// This host cannot serve it; the reason is free text for the operator.
    Isolated(String),
}

/// A place where a harness can be described and connected to, and which keeps nothing of a session between two turns.
/// It is a [`Runtime`] without memory.
#[async_trait]
pub trait HarnessPlacement: Send + Sync + 'static {
    /// Opens whatever Describe and Connect need. For a remote placement both then use this very channel, so that what
    /// was described is what runs.
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable>;
}

/// An acquired placement.
#[async_trait]
pub trait HarnessChannel: Send {
    /// Asks the harness what it is. The caller bounds the wait with [`DESCRIBE_TIMEOUT`].
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError>;

    /// Starts one execution: opens the stream and sends the first frame. Called after the turn's START is durable.
    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure>;
}

/// Everything the first frame of an execution says.
#[derive(Clone, Debug)]
pub struct TurnStart {
    /// The session that the turn belongs to.
    pub session: SessionUid,
    /// The turn.
    pub execution: ExecutionId,
    /// Every event of the log before this turn; empty for a harness whose memory was restored (invariant I4).
    pub history: History,
    /// The inputs of the turn.
    pub inputs: Vec<Message>,
    /// Opaque, as the client sent it.
    pub config: Vec<u8>,
    /// As the client sent it.
    pub resume_from_seq: i64,
    /// Log correlation id, passed on as `x-request-id`.
    pub request_id: String,
    /// What is invoked, if the turn is the invocation of a typed agent.
    pub invocation: Option<wire::Invocation>,
}

/// A running execution. Dropping it cancels the harness's stream.
#[async_trait]
pub trait HarnessConnection: Send {
    /// Sends one frame; waits while the harness is not reading. The caller bounds the wait.
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure>;

    /// The next event; `None` when the harness ended its stream well. The caller bounds the wait. Cancel safe.
    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure>;
}

/// A frame to the harness after the first; the adapter adds session uid and execution id.
#[derive(Clone, Debug, PartialEq)]
pub enum HostFrame {
    /// Answers a model request.
    Model(wire::ModelResult),
    /// Answers a tool call.
    Tool(ToolResult),
    /// The decision of a gated call, before its result.
    Approval(wire::ApprovalResult),
    /// The turn parks at an undecided gate.
    Park(wire::ApprovalRef),
    /// A cooperative stop.
    Cancel(wire::Cancel),
    /// About a stream of an invocation.
    Stream(wire::StreamFrame),
}

/// The harness cannot be reached.
#[derive(Debug, Error)]
#[error("harness is unavailable: {0}")]
pub struct HarnessUnavailable(pub String);

/// Describe failed.
#[derive(Debug, Error)]
pub enum DescribeError {
    /// It cannot be reached.
    #[error(transparent)]
    Unavailable(#[from] HarnessUnavailable),
    /// It was reached and answered with an error.
    #[error("harness failed to describe itself: {0}")]
    Refused(String),
    /// Its runtime failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeFailure),
}

impl From<AcquireError> for DescribeError {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Unavailable(error) => Self::Unavailable(error),
            AcquireError::Runtime(error) => Self::Runtime(error),
        }
    }
}

/// A running harness failed: it broke the stream, reported an error, or violated the protocol. The text says what,
/// without payloads.
#[derive(Debug, Error)]
#[error("{text}")]
pub struct HarnessFailure {
    text: String,
    lasting: bool,
}

impl HarnessFailure {
    /// A failure that another run may be spared: of the network, say.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasting: false }
    }

    /// A failure that every run of the same turn would come to.
    #[must_use]
    pub fn lasting(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasting: true }
    }

    /// Whether every run of the same turn would come to it.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        self.lasting
    }
}

/// Something that completes model requests.
#[async_trait]
pub trait ModelProvider: Send + Sync + 'static {
    /// Completes `call` and returns the whole message. A streaming provider gives every non-empty text chunk to
    /// `deltas` as it arrives; the chunks, joined, equal the text of the message. Every wait inside is bounded; the
    /// call is cancelled by dropping the future.
    async fn complete(&self, call: &ModelCall, deltas: &mut dyn DeltaSink) -> Result<Completion, ModelError>;
}

/// A completed model request.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The provider's complete message.
    pub message: Message,
    /// Whether it was streamed: a final, empty delta is then sent before the OUTPUT is recorded.
    pub streamed: bool,
}

/// Where text chunks go while a completion streams.
#[async_trait]
pub trait DeltaSink: Send {
    /// Passes a chunk on; waits while the reader is slow. A reader that is gone is not an error.
    async fn text(&mut self, chunk: String);
}

/// A model request failed. The text names provider, model and status, and may quote the provider's own message, cut and
/// redacted; never the request, any other part of a reply, or a credential.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ModelError(pub String);

/// Runs tool calls for harnesses. Chosen and configured by the operator, never by a client.
#[async_trait]
pub trait ToolExecutor: Send + Sync + 'static {
    /// Runs `call`. May be called again with the same session and idempotency key after a crash, and must then not
    /// repeat the effect.
    async fn execute(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, ToolError>;
}

/// A tool call has no result.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum ToolError {
    /// The operator lists no executor for this tool: nobody was asked, and a call that was approved may still be run
    /// once one is listed (execution.md §9.6).
    #[error("no executor is configured for this tool")]
    NotConfigured,
    /// The executor failed, perhaps after the effect. The text carries no arguments.
    #[error("{0}")]
    Failed(String),
}

impl ServedHarness {
    /// Asks the harness what it is. The caller bounds the wait with [`DESCRIBE_TIMEOUT`].
    ///
    /// # Errors
    /// [`DescribeError`].
    pub async fn describe(&self) -> Result<HarnessDescriptor, DescribeError> {
        self.runtime.probe().await?.describe().await
    }
}

impl fmt::Debug for ServedHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedHarness")
            .field("source", &self.source)
            .field("descriptor_id", &self.descriptor_id)
            .finish_non_exhaustive()
    }
}
