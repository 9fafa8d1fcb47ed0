//! Approvals under `kill -9` (execution.md §9): a turn with two gates whose node dies at every commit, and again while it
//! recovers. Every call is made to a process that has just been started.

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sdk::{Failure, Harness, Sink, Turn};
use support::{Api, Failpoint, NodeBuilder, TOOL, ToolServer, decision, kinds, seeds, serve_harness, text};
use tempfile::TempDir;
use tonic::Status;
use wire::EventKind::{
    self, EventApprovalRequest, EventApprovalResult, EventEnd, EventExecutionStart, EventInput, EventLifecycle,
    EventOutput, EventToolCall, EventToolResult,
};
use wire::event::Body;
use wire::tool_result::Code;
use wire::{Event, ExecRequest, HarnessDescriptor, LogRecord, Message, Session, ToolCall, lifecycle};

/// The gates of the turn, in order.
const GATES: [&str; 2] = ["first", "second"];

/// The records of the turn, without markers.
const TURN: [EventKind; 12] = [
    EventExecutionStart,
    EventInput,
    EventToolCall,
    EventApprovalRequest,
    EventApprovalResult,
    EventToolResult,
    EventToolCall,
    EventApprovalRequest,
    EventApprovalResult,
    EventToolResult,
    EventOutput,
    EventEnd,
];

/// What a client calls to bring the turn to its end, and the commits that each of the calls makes.
const CALLS: [(Call, u32); 5] = [
    // {START, INPUT}, {TOOL_CALL, APPROVAL_REQUEST}, {SUSPEND}
    (Call::Exec, 3),
    // {APPROVAL_RESULT}
    (Call::Approve, 1),
    // a fence, {TOOL_RESULT}, {TOOL_CALL, APPROVAL_REQUEST}, {SUSPEND}
    (Call::Resume, 4),
    (Call::Approve, 1),
    // a fence, {TOOL_RESULT}, {OUTPUT}, {END, RESUME}
    (Call::Resume, 4),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Exec,
    Approve,
    Resume,
}

/// Says what came of its two gated calls.
struct TwoGates;

#[sdk::async_trait]
impl Harness for TwoGates {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "two-gates".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let mut said = String::new();
        for gate in GATES {
            let decided = sink.gated(gated(turn.execution(), gate)).await?;
            said += if decided.approved { "run " } else { "denied " };
        }
        sink.output(Message::text("assistant", said)).await?;
        Ok(())
    }
}

fn gated(execution: &str, id: &str) -> ToolCall {
    ToolCall { id: id.into(), tool: TOOL.into(), idempotency_key: key(execution, id), ..ToolCall::default() }
}

fn key(execution: &str, id: &str) -> String {
    format!("{execution}/{id}")
}

/// Where nodes die and what is decided.
#[derive(Debug)]
struct Plan {
    /// The call whose node dies first, by its place in [`CALLS`].
    first_death: (usize, Failpoint),
    /// Where the nodes of the calls after it die, if they come so far.
    later_deaths: Vec<Option<Failpoint>>,
    approved: [bool; 2],
}

impl Plan {
    /// Seeds go through the boundaries one after the other; all else is random.
    fn of_seed(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let boundaries: Vec<_> = boundaries().collect();
        let first_death = boundaries[seed as usize % boundaries.len()];
        let later_deaths = (0..4).map(|_| random.random_bool(0.4).then(|| failpoint(&mut random))).collect();
        Self { first_death, later_deaths, approved: [random.random(), random.random()] }
    }

    fn approves(&self, id: &str) -> bool {
        let gate = GATES.iter().position(|&gate| gate == id).expect("the harness has no other gate");
        self.approved[gate]
    }
}

/// Every side of every commit of the turn, with the call that makes it.
fn boundaries() -> impl Iterator<Item = (usize, Failpoint)> {
    CALLS.iter().enumerate().flat_map(|(call, &(_, commits))| {
        (1..=commits)
            .flat_map(move |commit| [(call, Failpoint::BeforeCommit(commit)), (call, Failpoint::AfterCommit(commit))])
    })
}

fn failpoint(random: &mut StdRng) -> Failpoint {
    let commit = random.random_range(1..=4);
    if random.random() { Failpoint::BeforeCommit(commit) } else { Failpoint::AfterCommit(commit) }
}

/// A session on [`TwoGates`] and everything around it.
struct Torture {
    builder: NodeBuilder,
    tools: ToolServer,
    session: String,
    _directory: TempDir,
}

impl Torture {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tools = ToolServer::start().await;
        let builder = node(directory.path(), &tools).await;
        let node = builder.start().await;
        let session = node.api().await.create("two-gates").await.metadata.unwrap().uid;
        Self { builder, tools, session, _directory: directory }
    }

    /// Makes a call to a node of its own, which dies at `failpoint` if the call gets there.
    async fn call(&self, call: Call, plan: &Plan, failpoint: Option<Failpoint>) -> Result<(), Status> {
        let mut node = match failpoint {
            Some(failpoint) => self.builder.clone().failpoint(failpoint).start().await,
            None => self.builder.start().await,
        };
        let mut api = node.api().await;
        let outcome = match call {
            Call::Exec => {
                let session = self.session.clone();
                let request = ExecRequest { session, inputs: vec![text("go")], ..ExecRequest::default() };
                api.exec(request).await.1.map_or(Ok(()), Err)
            }
            Call::Approve => self.approve(&mut api, plan).await,
            Call::Resume => api.resume(&self.session).await.map(drop),
        };
        node.kill();
        outcome
    }

    async fn approve(&self, api: &mut Api, plan: &Plan) -> Result<(), Status> {
        let session = api.get(&self.session).await?;
        let gate = session.pending_approval.as_ref().expect("a gate waits");
        api.approve(decision(&self.session, gate, plan.approves(&gate.tool_call_id))).await.map(drop)
    }

    /// The session and its log, as a process sees them that knows nothing yet.
    async fn look(&self) -> (Session, Vec<LogRecord>) {
        let node = self.builder.start().await;
        let mut api = node.api().await;
        (api.get(&self.session).await.unwrap(), api.log(&self.session).await)
    }

    /// Goes on until the turn has ended; returns how often a node died.
    async fn run(&self, plan: &Plan) -> usize {
        let mut later_deaths = plan.later_deaths.iter();
        let (mut made, mut deaths) = (0, 0);
        let mut known = Vec::new();
        loop {
            let (session, log) = self.look().await;
            assert!(log.starts_with(&known), "a record was lost or rewritten");
            known = log;
            let Some(call) = next_call(&session, &known) else { return deaths };
            let failpoint = match made.cmp(&plan.first_death.0) {
                std::cmp::Ordering::Less => None,
                std::cmp::Ordering::Equal => Some(plan.first_death.1),
                std::cmp::Ordering::Greater => later_deaths.next().copied().flatten(),
            };
            assert!(made > plan.first_death.0 || CALLS[made].0 == call, "{call:?} is not call {made}");
            let outcome = self.call(call, plan, failpoint).await;
            assert!(outcome.is_ok() || failpoint.is_some(), "{call:?}: {outcome:?}");
            deaths += usize::from(outcome.is_err());
            made += 1;
        }
    }

    /// What must hold whatever died.
    fn check(&self, plan: &Plan, log: &[LogRecord], deaths: usize) {
        let turn: Vec<_> = log.iter().filter(|record| !is_marker(record)).cloned().collect();
        assert_eq!(kinds(&turn), TURN);
        assert_eq!(kinds(log).last(), Some(&EventLifecycle));
        let execution = &event(&turn[0]).execution_id;
        for (gate, id) in turn[2..10].chunks(4).zip(GATES) {
            check_gate(gate, id, plan.approves(id));
            let key = (self.session.clone(), key(execution, id));
            let calls = self.tools.calls().into_iter().filter(|call| *call == key).count();
            let allowed = if plan.approves(id) { 1..=1 + deaths } else { 0..=0 };
            assert!(allowed.contains(&calls), "{id}: {calls} calls");
        }
        let approved = plan.approved.iter().filter(|approved| **approved).count();
        assert_eq!(self.tools.effects(), approved, "effects beside those of the approved calls");
    }
}

async fn node(directory: &Path, tools: &ToolServer) -> NodeBuilder {
    let builder = NodeBuilder::new(directory).harness("two-gates", &serve_harness(TwoGates).await);
    tools.node(builder, directory)
}

/// What a client that sees the session like this does; `None`: the turn has ended.
fn next_call(session: &Session, log: &[LogRecord]) -> Option<Call> {
    if log.is_empty() {
        Some(Call::Exec)
    } else if kinds(log).contains(&EventEnd) {
        None
    } else if session.pending_approval.is_some() {
        Some(Call::Approve)
    } else {
        Some(Call::Resume)
    }
}

fn event(record: &LogRecord) -> &Event {
    record.event.as_ref().expect("a record has an event")
}

fn is_marker(record: &LogRecord) -> bool {
    match &event(record).body {
        Some(Body::Lifecycle(marker)) => {
            let known = [lifecycle::Kind::LifecycleSuspend, lifecycle::Kind::LifecycleResume];
            assert!(known.contains(&marker.kind()), "{marker:?}");
            true
        }
        _ => false,
    }
}

/// Checks TOOL_CALL, APPROVAL_REQUEST, APPROVAL_RESULT and TOOL_RESULT of one gate.
fn check_gate(records: &[LogRecord], id: &str, approved: bool) {
    let [call, request, decision, receipt] = records else { panic!("a gate has four records") };
    let Some(Body::Tool(call)) = &event(call).body else { panic!("no call") };
    assert_eq!(call.id, id);
    let Some(Body::ApprovalResult(recorded)) = &event(decision).body else { panic!("no decision") };
    let expected = (id, approved, request.seq);
    assert_eq!((recorded.tool_call_id.as_str(), recorded.approved, recorded.request_seq), expected);
    let Some(Body::Result(receipt)) = &event(receipt).body else { panic!("no receipt") };
    assert_eq!((receipt.approval_request_seq, receipt.approval_decision_seq), (request.seq, decision.seq));
    assert_eq!((receipt.id.as_str(), receipt.is_error, receipt.code()), outcome(id, approved), "{receipt:?}");
}

fn outcome(id: &str, approved: bool) -> (&str, bool, Code) {
    if approved { (id, false, Code::Unspecified) } else { (id, true, Code::ApprovalDenied) }
}

#[tokio::test]
async fn gated_calls_are_run_once_if_approved_and_never_if_denied_wherever_nodes_die() {
    for seed in seeds(300) {
        let plan = Plan::of_seed(seed);
        println!("seed {seed}: {plan:?}");
        let torture = Torture::start().await;
        let deaths = torture.run(&plan).await;
        assert!(deaths > 0, "no node died");
        let (_, log) = torture.look().await;
        torture.check(&plan, &log, deaths);
    }
}

#[tokio::test]
async fn a_turn_with_two_gates_takes_thirteen_commits() {
    let torture = Torture::start().await;
    let never = Plan { first_death: (0, Failpoint::AfterCommit(1)), later_deaths: Vec::new(), approved: [true; 2] };
    for (call, commits) in CALLS {
        let one_more = Failpoint::BeforeCommit(commits + 1);
        torture.call(call, &never, Some(one_more)).await.expect("the call makes no more commits than these");
    }
    let (_, log) = torture.look().await;
    torture.check(&never, &log, 0);
    assert_eq!(CALLS.iter().map(|(_, commits)| commits).sum::<u32>(), 13);
}
