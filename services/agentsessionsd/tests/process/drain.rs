//! SIGTERM with work under way.

use std::time::Duration;

use futures::TryStreamExt;
use support::{Api, NodeBuilder, NodeProcess, kinds};
use tokio::time::Instant;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;
use wire::EventKind::{EventEnd, EventError, EventExecutionStart, EventLifecycle, EventOutput};
use wire::ReplayRequest;

use crate::gate::{Gate, LiveTurn};
use crate::operations::{channel, health};

/// The drain has no more than this on top of its time-out.
const STOP_BOUND: Duration = Duration::from_secs(5);

async fn refuses_new_work(node: &NodeProcess, api: &mut Api) {
    let refusing = async {
        while health(channel(node).await, "").await != Ok(ServingStatus::NotServing) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(support::BOUND, refusing).await.expect("the node reports that it drains");
    assert_eq!(api.get("sess-x").await.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test]
async fn live_turns_end_while_new_calls_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let builder = gate.node(NodeBuilder::new(directory.path()));
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let turn = LiveTurn::begin(&mut api).await;

    node.terminate();
    refuses_new_work(&node, &mut api).await;
    gate.open(1);
    let updates: Vec<_> = turn.updates.try_collect().await.unwrap();
    assert_eq!(updates.len(), 2);
    assert!(node.wait(STOP_BOUND).await.success());

    let node = builder.start().await;
    let log = node.api().await.log(&turn.session).await;
    assert_eq!(kinds(&log), [EventExecutionStart, EventOutput, EventOutput, EventEnd]);
}

#[tokio::test]
async fn no_write_of_200_live_turns_is_lost_and_the_node_exits_within_its_bound() {
    let turns = 200;
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let builder = gate.node(NodeBuilder::new(directory.path())).flag("--drain-timeout", "200ms");
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let mut live = Vec::new();
    for _ in 0..turns {
        live.push(LiveTurn::begin(&mut api).await);
    }

    let told = Instant::now();
    node.terminate();
    let mut acknowledged = Vec::new();
    for mut turn in live {
        let status = loop {
            match turn.updates.message().await {
                Ok(Some(update)) => turn.records.extend(support::record(update)),
                Ok(None) => panic!("the turn ended well"),
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        acknowledged.push((turn.session, turn.records));
    }
    // The clients' connection stays open: the node must not wait for it.
    assert!(node.wait(STOP_BOUND).await.success());
    assert!(told.elapsed() < Duration::from_millis(200) + STOP_BOUND, "{:?}", told.elapsed());

    let node = builder.start().await;
    let mut api = node.api().await;
    gate.open(turns);
    for (session, records) in acknowledged {
        let log = api.log(&session).await;
        assert!(log.starts_with(&records), "{session}");
        assert_eq!(kinds(&log), [EventExecutionStart, EventOutput, EventError]);
        api.resume(&session).await.unwrap();
        let log = api.log(&session).await;
        assert_eq!(kinds(&log)[3..], [EventOutput, EventEnd, EventLifecycle]);
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_keep_the_node_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut node = NodeBuilder::new(directory.path()).flag("--drain-timeout", "50ms").start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    for _ in 0..4 {
        api.turn(&session, &"x".repeat(1 << 20)).await;
    }
    let replay = ReplayRequest { session, ..ReplayRequest::default() };
    let _unread = api.client.replay(replay).await.unwrap();
    node.terminate();
    assert!(node.wait(STOP_BOUND).await.success());
}

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let mut node = gate.node(NodeBuilder::new(directory.path())).flag("--drain-timeout", "10m").start().await;
    let mut api = node.api().await;
    let _turn = LiveTurn::begin(&mut api).await;
    node.terminate();
    refuses_new_work(&node, &mut api).await;
    node.terminate();
    assert_eq!(node.wait(STOP_BOUND).await.code(), Some(1));
}
