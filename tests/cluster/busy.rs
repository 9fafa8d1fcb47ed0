//! A turn that runs at one node, while calls on its session arrive at another.

use std::time::Duration;

use support::{Api, BOUND, HarnessServer, ModelServer, kinds, text};
use tokio::time::Instant;
use tonic::Code;
use wire::EventKind::{EventEnd, EventExecutionStart, EventInput, EventLifecycle, EventOutput};
use wire::exec_update::Update;
use wire::{CancelRequest, ExecRequest, ExecState, ExecUpdate, LogRecord};

use crate::world::{Watching, World, until_they_meet};

/// How often a watch asks the journal while it hears nothing.
const POLL: Duration = Duration::from_secs(1);
/// Slow enough that no node is given up because the machine is busy.
const HEARTBEAT: Duration = Duration::from_secs(2);

fn exec(session: &str, input: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text(input)], ..ExecRequest::default() }
}

#[tokio::test]
async fn calls_on_the_session_of_a_busy_node_are_refused_elsewhere_and_its_turn_goes_on() {
    let world = World::beating(HEARTBEAT).await;
    let harness = HarnessServer::start("waiting").await;
    let node = |name| world.node(name).harness("waiting", harness.address());
    let nodes = [node("one").start().await, node("two").start().await];
    until_they_meet(&nodes).await;
    let (mut here, mut there) = (nodes[0].api().await, nodes[1].api().await);

    let session = here.create("waiting").await.metadata.unwrap().uid;
    let calls = async {
        harness.waiting().await;
        let (_, refused) = there.exec(exec(&session, "me too")).await;
        let refused = [refused, there.resume(&session).await.err(), there.suspend(&session).await.err()];
        assert_eq!(refused.map(|status| status.unwrap().code()), [Code::Aborted; 3]);
        harness.release();
    };
    let ((_, failure), ()) = tokio::join!(here.exec(exec(&session, "wait")), calls);
    assert!(failure.is_none(), "{failure:?}");
    let log = there.log(&session).await;
    assert_eq!(kinds(&log), [EventExecutionStart, EventInput, EventOutput, EventEnd]);
    assert!(log.iter().all(|record| record.fence == 1), "nobody has even tried");
    // Once the turn has ended, any node takes the next one.
    there.turn(&session, "hello").await;
}

#[tokio::test]
async fn cancel_reaches_the_turn_at_the_node_that_runs_it() {
    let world = World::beating(HEARTBEAT).await;
    let harness = HarnessServer::start("waiting").await;
    let node = |name| world.node(name).harness("waiting", harness.address()).switch("--enable-cancel");
    let nodes = [node("one").start().await, node("two").start().await];
    until_they_meet(&nodes).await;
    let (mut here, mut there) = (nodes[0].api().await, nodes[1].api().await);

    let session = here.create("waiting").await.metadata.unwrap().uid;
    let cancel = async {
        harness.waiting().await;
        let request = CancelRequest { session: session.clone(), reason: "enough".into(), ..CancelRequest::default() };
        let canceled = there.client.cancel(request).await.unwrap().into_inner();
        assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    };
    let ((_, end), ()) = tokio::join!(here.exec(exec(&session, "wait")), cancel);
    assert_eq!(end.unwrap().code(), Code::Cancelled);
    let log = there.log(&session).await;
    assert_eq!(kinds(&log), [EventExecutionStart, EventInput, EventLifecycle, EventEnd]);
    assert!(log.iter().all(|record| record.fence == 1), "the node that ran the turn has ended it");
}

/// Records and streamed text, as somebody was told of them and when.
#[derive(Default)]
struct Told {
    records: Vec<LogRecord>,
    at: Vec<Instant>,
    text: String,
}

impl Told {
    fn note(&mut self, update: Update) {
        match update {
            Update::Record(record) => {
                self.records.push(record);
                self.at.push(Instant::now());
            }
            Update::Delta(delta) => self.text.push_str(&delta.chunk),
            Update::Session(_) => {}
        }
    }

    fn last_seq(&self) -> i64 {
        self.records.last().map_or(0, |record| record.seq)
    }
}

/// Runs a turn; whether the watcher hears text of it.
async fn first_delta(api: &mut Api, session: &str, watcher: &mut Watching) -> bool {
    let last = api.turn(session, "hello").await.last().unwrap().seq;
    let mut told = Told::default();
    while told.last_seq() < last {
        told.note(watcher.next().await);
    }
    !told.text.is_empty()
}

#[tokio::test]
async fn a_watch_at_another_node_has_each_record_and_each_delta_once_and_soon() {
    const TURNS: usize = 10;
    const RECORDS: usize = 5;
    let world = World::beating(HEARTBEAT).await;
    let model = ModelServer::start().await;
    let node = |name| world.node(name).flag("--model", "m").flag("--model-base-url", model.base_url());
    let nodes = [node("one").start().await, node("two").start().await];
    until_they_meet(&nodes).await;
    let (mut here, mut there) = (nodes[0].api().await, nodes[1].api().await);

    let session = here.create("echo").await.metadata.unwrap().uid;
    let mut watcher = Watching::begin(&mut there, &session).await;
    let heard = async { while !first_delta(&mut here, &session, &mut watcher).await {} };
    tokio::time::timeout(BOUND, heard).await.expect("deltas are heard once NATS knows who follows the session");

    let (mut caller, mut elsewhere) = (Told::default(), Told::default());
    let turns = async {
        for turn in 0..TURNS {
            let request = exec(&session, &format!("turn {turn}"));
            let mut updates = here.client.exec(request).await.unwrap().into_inner();
            while let Some(ExecUpdate { update: Some(update) }) = updates.message().await.unwrap() {
                caller.note(update);
            }
        }
    };
    let watch = async {
        while elsewhere.records.len() < TURNS * RECORDS {
            elsewhere.note(watcher.next().await);
        }
    };
    tokio::join!(turns, watch);
    assert_eq!(elsewhere.records, caller.records);
    assert_eq!(elsewhere.text, caller.text);
    assert!(!caller.text.is_empty());

    let mut late: Vec<_> =
        elsewhere.at.iter().zip(&caller.at).map(|(there, here)| there.saturating_duration_since(*here)).collect();
    late.sort();
    let half = late[late.len() / 2];
    println!("records are heard at another node {half:?} after they were told to the caller (p50)");
    assert!(half < POLL / 4, "{late:?}");
}
