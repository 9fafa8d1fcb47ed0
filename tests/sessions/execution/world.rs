//! What the tests of the sections start from, and how they say what they expect.

use support::records::Of;
use support::{
    Api, BOUND, ModelServer, NodeBuilder, NodeProcess, Scribe, ScriptedHarness, Step, ToolServer, decision, record,
    text,
};
use tempfile::TempDir;
use tonic::{Code, Status, Streaming};
use wire::event::Body;
use wire::exec_update::Update;
use wire::{
    ApprovalRef, ApproveRequest, Event, ExecRequest, ExecUpdate, ExecutionStart, ForkRequest, HarnessSpec, LogRecord,
    Session,
};

/// The name of the harness that the sessions of most tests are stored with.
pub const HARNESS: &str = "scripted";
/// Another name of the same harness.
pub const OTHER: &str = "other";
/// The name of a harness at an address where nobody listens.
pub const DOWN: &str = "down";
/// A name that no node serves.
pub const GONE: &str = "gone";

/// A node with a harness, a model and an executor of tools, and another hand on its journal.
pub struct World {
    pub harness: ScriptedHarness,
    pub model: ModelServer,
    pub tools: ToolServer,
    pub scribe: Scribe,
    pub builder: NodeBuilder,
    pub node: NodeProcess,
    pub directory: TempDir,
    api: Api,
}

/// What a call of Exec gave.
#[derive(Debug)]
pub struct Executed {
    /// Its frames in [words](frames).
    pub frames: String,
    /// How it ended.
    pub code: Code,
    /// Its records.
    pub records: Vec<LogRecord>,
    /// The session frames, in order.
    pub sessions: Vec<Session>,
}

impl World {
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (harness, model, tools) =
            (ScriptedHarness::start().await, ModelServer::start().await, ToolServer::start().await);
        let builder = tools.node(NodeBuilder::new(directory.path()), directory.path());
        let builder = serving(builder, &harness, &model);
        let node = builder.start().await;
        let (api, scribe) = (node.api().await, Scribe::open(&builder).await);
        Self { harness, model, tools, scribe, builder, node, directory, api }
    }

    /// A node on the same journal that has no executor of tools.
    pub async fn node_without_tools(&self) -> NodeProcess {
        serving(NodeBuilder::new(self.directory.path()), &self.harness, &self.model).start().await
    }

    /// A client of the node.
    pub fn api(&self) -> Api {
        self.api.clone()
    }

    /// Registers the harness under another name.
    pub async fn register(&self, name: &str, spec: HarnessSpec) {
        self.node.operator().await.create(name, spec).await;
    }

    /// A new session.
    pub async fn session(&self) -> String {
        uid(&self.api().create(HARNESS).await)
    }

    /// A session with this log.
    pub async fn recorded(&self, events: impl Into<Vec<Event>>) -> String {
        self.scribe.session(HARNESS, events.into()).await
    }

    /// A session whose turn `e1` waits at the gate `g`: START, TOOL_CALL and APPROVAL_REQUEST at 3.
    pub async fn gated(&self) -> String {
        self.recorded(gate()).await
    }

    /// Runs a turn on one input in which the harness does this.
    pub async fn run(&self, session: &str, steps: impl Into<Vec<Step>>) -> Executed {
        self.harness.does(steps);
        self.exec(turn(session)).await
    }

    pub async fn exec(&self, request: ExecRequest) -> Executed {
        let (updates, failure) = self.api().exec(request).await;
        let frames = frames(&updates);
        let session = |update: &ExecUpdate| match &update.update {
            Some(Update::Session(session)) => Some(session.clone()),
            _ => None,
        };
        let sessions = updates.iter().filter_map(session).collect();
        let records = updates.into_iter().filter_map(record).collect();
        Executed { frames, code: failure.map_or(Code::Ok, |status| status.code()), records, sessions }
    }

    /// Begins a turn whose script waits, and waits until it does.
    pub async fn waiting_turn(&self, session: &str) -> Streaming<ExecUpdate> {
        let stream = self.api().client.exec(turn(session)).await.unwrap().into_inner();
        self.harness.waiting().await;
        stream
    }

    pub async fn resume(&self, session: &str) -> Code {
        code(self.api().resume(session).await)
    }

    pub async fn suspend(&self, session: &str) -> Code {
        code(self.api().suspend(session).await)
    }

    pub async fn fork(&self, session: &str) -> Code {
        code(self.api().fork(fork_of(session)).await)
    }

    /// Decides the gate of [`gated`](Self::gated).
    pub async fn approve(&self, session: &str, approved: bool) -> Code {
        code(self.api().approve(decide(session, approved)).await)
    }

    pub async fn get(&self, session: &str) -> Session {
        self.api().get(session).await.unwrap()
    }

    pub async fn log(&self, session: &str) -> Vec<LogRecord> {
        self.api().log(session).await
    }

    /// The log of a session in [words].
    pub async fn words(&self, session: &str) -> String {
        words(&self.log(session).await)
    }

    /// A child of a session.
    pub async fn child(&self, parent: &str, at_seq: i64) -> String {
        let request = ForkRequest { at_seq, ..fork_of(parent) };
        uid(&self.api().fork(request).await.unwrap()[0])
    }
}

fn serving(builder: NodeBuilder, harness: &ScriptedHarness, model: &ModelServer) -> NodeBuilder {
    let builder = builder.operated().flag("--model", "m").flag("--model-base-url", model.base_url());
    let builder = builder.flag("--harness", format!("{HARNESS}={}", harness.address()));
    let builder = builder.flag("--harness", format!("{OTHER}={}", harness.address()));
    builder.flag("--harness", format!("{DOWN}=127.0.0.1:9"))
}

pub fn uid(session: &Session) -> String {
    session.metadata.as_ref().unwrap().uid.clone()
}

/// A turn on one input.
pub fn turn(session: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text("question")], ..ExecRequest::default() }
}

/// An Exec without inputs.
pub fn recovery(session: &str) -> ExecRequest {
    ExecRequest { session: session.into(), ..ExecRequest::default() }
}

pub fn fork_of(session: &str) -> ForkRequest {
    ForkRequest { session: session.into(), ..ForkRequest::default() }
}

/// START of the turn `e1` without inputs, recorded on a harness.
pub fn started_on(harness: &str, harness_version: &str) -> Event {
    let start = ExecutionStart {
        input_count: Some(0),
        harness: harness.into(),
        harness_version: harness_version.into(),
        ..ExecutionStart::default()
    };
    Of("e1").start_with(start)
}

/// A turn `e1` that waits at the gate `g`.
pub fn gate() -> Vec<Event> {
    let call = support::records::gated("g");
    vec![started_on(HARNESS, "1"), Of("e1").call(call), Of("e1").request("g")]
}

/// The gate of [`gate`].
pub fn reference() -> ApprovalRef {
    ApprovalRef { execution_id: "e1".into(), tool_call_id: "g".into(), request_seq: 3 }
}

/// A decision on the gate of [`gate`].
pub fn decide(session: &str, approved: bool) -> ApproveRequest {
    decision(session, &reference(), approved)
}

/// How a call ended.
pub fn code<T>(outcome: Result<T, Status>) -> Code {
    outcome.err().map_or(Code::Ok, |status| status.code())
}

/// Records as their kinds without `EVENT_`, START for short, and markers by what they mark.
pub fn words(records: &[LogRecord]) -> String {
    records.iter().map(|record| word(record.event.as_ref().unwrap())).collect::<Vec<_>>().join(" ")
}

/// The frames of an Exec: `Session`, `delta`, and records as in [`words`]. Deltas in a row are one word.
pub fn frames(updates: &[ExecUpdate]) -> String {
    let mut frames: Vec<&str> = updates.iter().map(frame).collect();
    frames.dedup_by(|next, last| *next == "delta" && *last == "delta");
    frames.join(" ")
}

fn frame(update: &ExecUpdate) -> &'static str {
    match update.update.as_ref().unwrap() {
        Update::Session(_) => "Session",
        Update::Delta(_) => "delta",
        Update::Record(record) => word(record.event.as_ref().unwrap()),
    }
}

fn word(event: &Event) -> &'static str {
    match &event.body {
        Some(Body::Lifecycle(marker)) => marker.kind().as_str_name().trim_start_matches("LIFECYCLE_"),
        Some(Body::ExecutionStart(_)) => "START",
        _ => event.kind().as_str_name().trim_start_matches("EVENT_"),
    }
}

/// The event of a record.
pub fn event(record: &LogRecord) -> &Event {
    record.event.as_ref().unwrap()
}

/// Unix time in so many seconds from now.
pub fn unix_in(seconds: i64) -> i64 {
    env::Env::system().unix_time().as_secs() as i64 + seconds
}

/// Waits for what will happen.
pub async fn bounded<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.expect("it happens in time")
}
