//! Decisions that arrive while two nodes race to go on with the turn.

use std::time::Duration;

use client::{Client, Code};
use sdk::{Failure, Harness, Sink, Turn};
use support::{BOUND, Cluster, NodeBuilder, ToolServer, kinds, rounds, serve_harness, text};
use wire::EventKind::{EventEnd, EventExecutionStart, EventToolResult};
use wire::{ApprovalRef, ApproveRequest, ExecRequest, HarnessDescriptor, Message, Session};

use crate::worker::call;
use crate::world::World;

/// Runs the tool once somebody has approved it.
struct Careful;

#[sdk::async_trait]
impl Harness for Careful {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "careful".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let decided = sink.gated(call(turn.execution())).await?;
        let parts = decided.result.content;
        sink.output(Message { role: "assistant".into(), parts }).await?;
        Ok(())
    }
}

/// A session that waits for a decision.
async fn waiting(client: &Client) -> (String, ApprovalRef) {
    let session = client.create(Session { harness: "careful".into(), ..Session::default() }).await.unwrap();
    let uid = session.metadata.unwrap().uid;
    let request = ExecRequest { session: uid.clone(), inputs: vec![text("go")], ..ExecRequest::default() };
    let updates: Vec<_> = futures::TryStreamExt::try_collect(client.exec(request)).await.unwrap();
    match updates.last() {
        Some(client::Update::Session(session)) => (uid, session.pending_approval.clone().unwrap()),
        other => panic!("the turn has not parked: {other:?}"),
    }
}

/// Longest pause after a lost race. At random, so that two that shut each other out do not do so for ever.
const PAUSE: Duration = Duration::from_millis(30);

/// Repeats a call that loses its race until it does not.
async fn until_won<T, F: Future<Output = Result<T, client::Error>>>(call: impl Fn() -> F) -> T {
    let winning = async {
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(error) => assert_eq!(error.code(), Code::Aborted, "{error}"),
            }
            tokio::time::sleep(PAUSE.mul_f64(rand::random())).await;
        }
    };
    tokio::time::timeout(BOUND, winning).await.expect("somebody wins in time")
}

#[tokio::test]
async fn a_decision_among_nodes_that_race_to_recover_is_taken_once_and_has_one_effect() {
    let world = World::new().await;
    let tools = ToolServer::start().await;
    let builder = NodeBuilder::new(world.directory.path()).harness("careful", &serve_harness(Careful).await);
    let builder = world.joined(tools.node(builder, world.directory.path()));
    let cluster = Cluster::start((0..3).map(|_| builder.clone())).await;
    let client = |first: usize| {
        let addresses = cluster.addresses(first).parse().unwrap();
        async move { Client::connect(&addresses).await.unwrap() }
    };
    let clients = [client(0).await, client(1).await, client(2).await];
    let mut api = cluster.api().await;
    let rounds = rounds(200);
    for _ in 0..rounds {
        let (uid, gate) = waiting(&clients[0]).await;
        let request = ApproveRequest {
            session: uid.clone(),
            execution_id: gate.execution_id,
            tool_call_id: gate.tool_call_id,
            request_seq: gate.request_seq,
            approved: Some(true),
            ..ApproveRequest::default()
        };
        let resume = async |client: &Client| until_won(|| client.resume(&uid)).await;
        let (decided, ..) =
            tokio::join!(until_won(|| clients[0].approve(request.clone())), resume(&clients[1]), resume(&clients[2]),);
        assert!(decided.decision.is_some());
        // Both may have been there before the decision.
        resume(&clients[0]).await;
        let log = kinds(&api.log(&uid).await);
        for once in [EventExecutionStart, EventToolResult, EventEnd] {
            assert_eq!(log.iter().filter(|kind| **kind == once).count(), 1, "{once:?} in {log:?}");
        }
    }
    assert_eq!(tools.effects(), rounds);
}
