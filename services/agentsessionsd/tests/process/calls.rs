//! The ordinary life of a session.

use futures::TryStreamExt;
use support::{Api, NodeBuilder, kinds, text};
use tonic::Code;
use wire::EventKind::{
    self, EventEnd, EventError, EventExecutionStart, EventInput, EventLifecycle, EventModelCall, EventOutput,
};
use wire::exec_update::Update;
use wire::{ExecRequest, ForkRequest, ListSessionsRequest, SuspendRequest};

use crate::gate::{Gate, LiveTurn};

#[tokio::test]
async fn a_turn_streams_the_session_first_and_then_what_replay_gives_back() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let exec = ExecRequest { inputs: vec![text("hello")], ..ExecRequest::default() };
    let (updates, failure) = api.exec(exec).await;
    assert!(failure.is_none(), "{failure:?}");

    let mut updates = updates.into_iter().map(|update| update.update.unwrap());
    let Some(Update::Session(session)) = updates.next() else { panic!("no session first") };
    assert_eq!((session.last_seq, session.harness.as_str()), (0, "echo"));
    let uid = session.metadata.unwrap().uid;
    let records: Vec<_> = updates
        .map(|update| match update {
            Update::Record(record) => record,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds(&records), [EventExecutionStart, EventInput, EventModelCall, EventOutput, EventEnd]);
    assert_eq!(api.log(&uid).await, records);
    assert_eq!(api.get(&uid).await.unwrap().last_seq, 5);
}

#[tokio::test]
async fn sessions_survive_a_restart_and_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    let before = api.turn(&session, "first").await;
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());

    let node = builder.start().await;
    let mut api = node.api().await;
    assert_eq!(api.log(&session).await, before);
    api.turn(&session, "second").await;
    assert_eq!(api.log(&session).await.len(), 10);
}

#[tokio::test]
async fn suspend_resume_and_fork_work_over_the_wire() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "x").await;
    let suspended = api.client.suspend(SuspendRequest { session: session.clone() }).await.unwrap().into_inner();
    assert_eq!((suspended.last_seq, suspended.compute_state()), (6, wire::ComputeState::ComputeCold));
    let resumed = api.resume(&session).await.unwrap();
    assert_eq!((resumed.last_seq, resumed.compute_state()), (7, wire::ComputeState::ComputeLive));

    let fork = ForkRequest { session: session.clone(), count: 3, at_seq: 5, ..ForkRequest::default() };
    let children = api.client.fork(fork).await.unwrap().into_inner().children;
    assert_eq!(children.len(), 3);
    let parent = api.log(&session).await;
    for child in children {
        let log = api.log(&child.metadata.unwrap().uid).await;
        assert_eq!((log.len(), log[..5] == parent[..5]), (6, true));
    }
    let list = api.client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner();
    assert_eq!(list.sessions.len(), 4);
}

#[tokio::test]
async fn a_busy_session_is_aborted_and_the_others_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let node = gate.node(NodeBuilder::new(directory.path())).start().await;
    let mut api = node.api().await;
    let live = LiveTurn::begin(&mut api).await;
    let exec = ExecRequest { session: live.session.clone(), ..ExecRequest::default() };
    assert_eq!(api.exec(exec).await.1.unwrap().code(), Code::Aborted);
    assert_eq!(api.log(&live.session).await, live.records);
    gate.open(1);
    let updates: Vec<_> = live.updates.try_collect().await.unwrap();
    assert_eq!(updates.len(), 2);
}

/// Asks for the log until it is `expected`.
async fn log_becomes(api: &mut Api, session: &str, expected: &[EventKind]) {
    let wait = async { while kinds(&api.log(session).await) != expected {} };
    let waited = tokio::time::timeout(support::BOUND, wait).await;
    assert!(waited.is_ok(), "the log did not become {expected:?}");
}

#[tokio::test]
async fn a_client_that_goes_away_interrupts_its_turn_which_can_be_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let node = gate.node(NodeBuilder::new(directory.path())).start().await;
    let mut api = node.api().await;
    let LiveTurn { session, updates, .. } = LiveTurn::begin(&mut api).await;
    gate.started(1).await;
    drop(updates);
    log_becomes(&mut api, &session, &[EventExecutionStart, EventOutput, EventError]).await;

    // Resume itself may be abandoned too: another ERROR, and the turn stays recoverable.
    let mut impatient = node.api().await;
    let mut resume = Box::pin(impatient.resume(&session));
    tokio::select! {
        _ = &mut resume => panic!("the gate is closed"),
        () = gate.started(1) => drop(resume),
    }
    log_becomes(&mut api, &session, &[EventExecutionStart, EventOutput, EventError, EventError]).await;

    // The abandoned runs may not know yet that they are, and take a place at the gate as well.
    gate.open(3);
    // The run that recorded the last ERROR may not have let go of the session yet.
    let resumed = async { while api.resume(&session).await.is_err_and(|status| status.code() == Code::Aborted) {} };
    tokio::time::timeout(support::BOUND, resumed).await.unwrap();
    let log = kinds(&api.log(&session).await);
    let expected = [EventExecutionStart, EventOutput, EventError, EventError, EventOutput, EventEnd, EventLifecycle];
    assert_eq!(log, expected);
}
