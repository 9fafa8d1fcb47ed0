//! Harnesses whose sessions go on from a snapshot of their memory, by the sections of execution.md. They are processes
//! that a node starts, and their memory is a file.

use std::path::{Path, PathBuf};

use support::{Api, Failpoint, NodeBuilder, binary, kinds, serve_harness, text};
use tonic::{Code, Status};
use wire::EventKind::{self, EventApprovalRequest, EventEnd, EventError, EventExecutionStart, EventInput};
use wire::EventKind::{EventLifecycle, EventOutput, EventToolCall, EventToolResult};
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{
    ApproveRequest, CancelRequest, Capabilities, ComputeState, ExecRequest, ExecState, ForkRequest, HarnessDescriptor,
    Lifecycle, LogRecord, Resumability, Session, SuspendRequest,
};

const TURN: [EventKind; 4] = [EventExecutionStart, EventInput, EventOutput, EventEnd];

/// The head of a session after one turn.
const HEAD: i64 = 4;

/// Where the states are.
fn states(directory: &Path) -> PathBuf {
    directory.join("states")
}

/// A node that starts the harnesses `memory`, which remembers, and `gate`, which replays and needs an approval,
/// and `liar`, the same as `gate` and configured as if it remembered.
fn node(directory: &Path) -> NodeBuilder {
    let (command, states) = (binary("stateful-harness"), states(directory));
    let process = |name: &str, args: &str, resumability: &str| {
        format!(
            "[process.{name}]\ncommand = '{}'\nargs = {args}\nstates = '{}'\nresumability = '{resumability}'\n",
            command.display(),
            states.display()
        )
    };
    let memory = process("memory", "[]", "requires-memory-snapshot");
    let gate = process("gate", "['gate']", "stateless-replay");
    let liar = process("liar", "['gate']", "requires-memory-snapshot");
    let file = directory.join("node.toml");
    std::fs::write(&file, memory + &gate + &liar).unwrap();
    with_model(NodeBuilder::new(directory)).flag("--config", file)
}

/// Harnesses outside of the node need a model; these never ask it.
fn with_model(builder: NodeBuilder) -> NodeBuilder {
    builder.flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9")
}

async fn create(api: &mut Api, harness: &str) -> String {
    api.create(harness).await.metadata.unwrap().uid
}

/// What the harness says in the next turn.
async fn said(api: &mut Api, session: &str) -> String {
    last_output(&api.turn(session, "go on").await)
}

fn last_output(records: &[LogRecord]) -> String {
    let mut events = records.iter().rev().filter_map(|record| record.event.as_ref());
    match events.find(|event| event.kind() == EventOutput).and_then(|event| event.body.as_ref()) {
        Some(Body::Message(message)) => message.text_content(),
        body => panic!("no output: {body:?}"),
    }
}

fn last_lifecycle(records: &[LogRecord]) -> Lifecycle {
    match records.last().and_then(|record| record.event.as_ref()?.body.clone()) {
        Some(Body::Lifecycle(lifecycle)) => lifecycle,
        body => panic!("the last record is no LIFECYCLE: {body:?}"),
    }
}

async fn suspend(api: &mut Api, session: &str) -> Result<Session, Status> {
    api.client.suspend(SuspendRequest { session: session.into() }).await.map(tonic::Response::into_inner)
}

async fn fork(api: &mut Api, session: &str, at_seq: i64, count: i32) -> Result<Vec<Session>, Status> {
    let request = ForkRequest { session: session.into(), at_seq, count, ..ForkRequest::default() };
    api.client.fork(request).await.map(|response| response.into_inner().children)
}

/// A harness at an address that says it lives in memory.
struct Remembering;

#[sdk::async_trait]
impl sdk::Harness for Remembering {
    fn describe(&self) -> HarnessDescriptor {
        let resumability = Resumability::RequiresMemorySnapshot.into();
        let capabilities = Some(Capabilities { resumability, ..Capabilities::default() });
        HarnessDescriptor { id: "remembering".into(), capabilities, ..HarnessDescriptor::default() }
    }

    async fn run(&self, _: sdk::Turn, _: &mut sdk::Sink) -> Result<(), sdk::Failure> {
        Ok(())
    }
}

#[tokio::test]
async fn section_2_3_3_a_memory_harness_is_not_placed_where_memory_is_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let address = serve_harness(Remembering).await;
    let builder = with_model(NodeBuilder::new(directory.path())).flag("--harness", format!("memory={address}"));
    let node = builder.start().await;
    let mut api = node.api().await;
    let session = create(&mut api, "memory").await;
    let exec = ExecRequest { session: session.clone(), ..ExecRequest::default() };
    let (updates, refused) = api.exec(exec).await;
    assert_eq!((updates.len(), refused.unwrap().code()), (1, Code::FailedPrecondition), "after the first frame");
    assert_eq!(api.resume(&session).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(fork(&mut api, &session, 0, 1).await.unwrap_err().code(), Code::FailedPrecondition);
    let state = api.get(&session).await.unwrap();
    assert_eq!((state.last_seq, state.compute_state()), (0, ComputeState::ComputeNone));
}

#[tokio::test]
async fn a_process_that_describes_itself_otherwise_than_it_is_configured_runs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let node = node(directory.path()).start().await;
    let mut api = node.api().await;
    let session = create(&mut api, "liar").await;
    let exec = ExecRequest { session: session.clone(), inputs: vec![text("go on")], ..ExecRequest::default() };
    let refused = api.exec(exec).await.1.unwrap();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{}", refused.message());
    assert_eq!(fork(&mut api, &session, 0, 1).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(api.get(&session).await.unwrap().last_seq, 0);
}

#[tokio::test]
async fn section_2_2_5_5_a_memory_session_is_not_run_by_a_harness_that_replays() {
    let directory = tempfile::tempdir().unwrap();
    let node = node(directory.path()).start().await;
    let mut api = node.api().await;
    let session = create(&mut api, "memory").await;
    for name in ["echo", "gate"] {
        let exec = ExecRequest { session: session.clone(), harness: name.into(), ..ExecRequest::default() };
        let (updates, refused) = api.exec(exec).await;
        assert_eq!((updates.len(), refused.unwrap().code()), (0, Code::FailedPrecondition), "{name}");
    }
    assert_eq!(api.get(&session).await.unwrap().last_seq, 0);
    let session = create(&mut api, "echo").await;
    let exec = ExecRequest { session: session.clone(), harness: "memory".into(), ..ExecRequest::default() };
    assert!(api.exec(exec).await.1.is_none(), "the other way round it is");
}

#[tokio::test]
async fn section_10_memory_outlives_the_node_in_a_snapshot_and_replaces_the_history() {
    let directory = tempfile::tempdir().unwrap();
    let builder = node(directory.path());
    let mut first = builder.start().await;
    let mut api = first.api().await;
    let session = create(&mut api, "memory").await;
    assert_eq!(said(&mut api, &session).await, "turn 1, told 0");
    assert_eq!(said(&mut api, &session).await, "turn 2, told 0", "I4: it remembers");
    let suspended = suspend(&mut api, &session).await.unwrap();
    assert_eq!(suspended.compute_state(), ComputeState::ComputeCold);
    let lifecycle = last_lifecycle(&api.log(&session).await);
    assert_eq!(lifecycle.kind(), Kind::LifecycleSuspend);
    assert_eq!((lifecycle.snapshot_local.as_str(), lifecycle.detail.as_str()), (session.as_str(), ""));
    assert!(lifecycle.snapshot_memory && !lifecycle.snapshot_sealed);
    let snapshot = PathBuf::from(lifecycle.snapshot_external_uri.strip_prefix("file://").unwrap());
    assert_eq!(std::fs::read_to_string(snapshot).unwrap(), "xx");
    assert!(!states(directory.path()).join(&session).join("live").exists(), "only the snapshot is left");
    first.kill();

    let second = builder.start().await;
    let mut api = second.api().await;
    assert_eq!(said(&mut api, &session).await, "turn 3, told 0", "I4: it was restored");
    assert_eq!(api.get(&session).await.unwrap().compute_state(), ComputeState::ComputeLive);
    assert_eq!(said(&mut api, &session).await, "turn 4, told 0");
}

#[tokio::test]
async fn section_7_3_an_interrupted_turn_is_run_again_on_the_memory_it_began_with() {
    // Commits: {START, INPUT}, {OUTPUT}, {END}; before the last one the harness has ended its turn.
    for failpoint in [Failpoint::AfterCommit(1), Failpoint::AfterCommit(2), Failpoint::BeforeCommit(3)] {
        let directory = tempfile::tempdir().unwrap();
        let builder = node(directory.path());
        let session = {
            let node = builder.start().await;
            let mut api = node.api().await;
            let session = create(&mut api, "memory").await;
            assert_eq!(said(&mut api, &session).await, "turn 1, told 0");
            suspend(&mut api, &session).await.unwrap();
            session
        };
        let dying = builder.clone().failpoint(failpoint).start().await;
        let exec = ExecRequest { session: session.clone(), inputs: vec![text("go on")], ..ExecRequest::default() };
        assert!(dying.api().await.exec(exec).await.1.is_some(), "the node survived {failpoint:?}");

        let node = builder.start().await;
        let mut api = node.api().await;
        api.resume(&session).await.unwrap();
        let log = api.log(&session).await;
        assert_eq!(kinds(&log), [&TURN[..], &[EventLifecycle], &TURN[..], &[EventLifecycle]].concat(), "{failpoint:?}");
        assert_eq!(last_output(&log), "turn 2, told 0", "{failpoint:?}");
        assert_eq!(said(&mut api, &session).await, "turn 3, told 0", "{failpoint:?}");
    }
}

#[tokio::test]
async fn a_canceled_turn_leaves_the_memory_as_the_turn_before_it_did() {
    let directory = tempfile::tempdir().unwrap();
    let builder = node(directory.path()).switch("--enable-cancel");
    let session = {
        let node = builder.start().await;
        let mut api = node.api().await;
        let session = create(&mut api, "memory").await;
        assert_eq!(said(&mut api, &session).await, "turn 1, told 0");
        suspend(&mut api, &session).await.unwrap();
        assert_eq!(said(&mut api, &session).await, "turn 2, told 0");
        session
    };
    let dying = builder.clone().failpoint(Failpoint::AfterCommit(2)).start().await;
    let exec = ExecRequest { session: session.clone(), inputs: vec![text("go on")], ..ExecRequest::default() };
    assert!(dying.api().await.exec(exec).await.1.is_some(), "the node survived");

    let node = builder.start().await;
    let mut api = node.api().await;
    api.client.cancel(CancelRequest { session: session.clone(), ..CancelRequest::default() }).await.unwrap();
    assert_eq!(said(&mut api, &session).await, "turn 3, told 0");
}

#[tokio::test]
async fn section_11_children_of_a_memory_session_go_on_from_its_memory() {
    let directory = tempfile::tempdir().unwrap();
    let node = node(directory.path()).start().await;
    let mut api = node.api().await;
    let parent = create(&mut api, "memory").await;
    said(&mut api, &parent).await;
    assert_eq!(fork(&mut api, &parent, HEAD - 1, 1).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(api.get(&parent).await.unwrap().compute_state(), ComputeState::ComputeLive, "nothing was done");

    let children = fork(&mut api, &parent, HEAD, 3).await.unwrap();
    assert_eq!(children.len(), 3);
    let state = api.get(&parent).await.unwrap();
    assert_eq!((state.last_seq, state.compute_state()), (HEAD + 1, ComputeState::ComputeCold));
    for child in &children {
        assert_eq!(
            (child.last_seq, child.fork_seq, child.compute_state()),
            (HEAD + 1, HEAD, ComputeState::ComputeCold)
        );
        let uid = &child.metadata.as_ref().unwrap().uid;
        assert_eq!(last_lifecycle(&api.log(uid).await).kind(), Kind::LifecycleFork, "the SUSPEND is the parent's");
        assert_eq!(said(&mut api, uid).await, "turn 2, told 0");
        assert_eq!(said(&mut api, uid).await, "turn 3, told 0");
    }
    assert_eq!(said(&mut api, &parent).await, "turn 2, told 0");
}

#[tokio::test]
async fn section_11_a_fork_without_snapshot_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let node = node(directory.path()).start().await;
    let mut api = node.api().await;
    let parent = create(&mut api, "memory").await;
    said(&mut api, &parent).await;
    let in_the_way = break_snapshots(directory.path(), &parent);
    assert_eq!(fork(&mut api, &parent, 0, 2).await.unwrap_err().code(), Code::Internal);
    let state = api.get(&parent).await.unwrap();
    assert_eq!((state.last_seq, state.compute_state()), (HEAD, ComputeState::ComputeLive));
    std::fs::remove_file(in_the_way).unwrap();
    let listed = api.client.list_sessions(wire::ListSessionsRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed.sessions.len(), 1);
    assert_eq!(said(&mut api, &parent).await, "turn 2, told 0", "its compute is as it was");
}

/// Puts a file where the snapshots of a session would be.
fn break_snapshots(directory: &Path, session: &str) -> PathBuf {
    let file = states(directory).join(session).join("snapshots");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "in the way").unwrap();
    file
}

#[tokio::test]
async fn section_9_2_a_park_without_snapshot_waits_live_until_it_is_suspended() {
    let directory = tempfile::tempdir().unwrap();
    let node = node(directory.path()).start().await;
    let mut api = node.api().await;
    let session = create(&mut api, "gate").await;
    let in_the_way = break_snapshots(directory.path(), &session);
    let exec = ExecRequest { session: session.clone(), inputs: vec![text("go on")], ..ExecRequest::default() };
    let (_, failure) = api.exec(exec).await;
    assert_eq!(failure.unwrap().code(), Code::Internal);
    let parked = [EventExecutionStart, EventInput, EventOutput, EventToolCall, EventApprovalRequest];
    assert_eq!(kinds(&api.log(&session).await), parked, "no SUSPEND, no ERROR");
    let state = api.get(&session).await.unwrap();
    assert_eq!((state.exec_state(), state.compute_state()), (ExecState::ExecAwaiting, ComputeState::ComputeLive));

    std::fs::remove_file(in_the_way).unwrap();
    let state = suspend(&mut api, &session).await.unwrap();
    assert_eq!((state.exec_state(), state.compute_state()), (ExecState::ExecAwaiting, ComputeState::ComputeCold));
    let pending = state.pending_approval.unwrap();
    let decision = ApproveRequest {
        session: session.clone(),
        execution_id: pending.execution_id,
        tool_call_id: pending.tool_call_id,
        request_seq: pending.request_seq,
        approved: Some(false),
        ..ApproveRequest::default()
    };
    api.client.approve(decision).await.unwrap();
    let state = api.resume(&session).await.unwrap();
    assert_eq!((state.exec_state(), state.compute_state()), (ExecState::ExecCompleted, ComputeState::ComputeLive));
    let log = api.log(&session).await;
    assert!(kinds(&log).ends_with(&[EventToolResult, EventEnd, EventLifecycle]) && !kinds(&log).contains(&EventError));
}
