//! What nodes hear of each other at once.

use std::time::Duration;

use support::{HarnessServer, remote_spec, text};
use tokio::time::{Instant, timeout};
use tonic::Code;
use wire::ExecRequest;

use crate::world::{Watching, World, until_heard};

/// How often a watch asks the journal while it hears nothing.
const POLL: Duration = Duration::from_secs(1);

#[tokio::test]
async fn what_happens_at_one_node_is_heard_at_another_at_once() {
    let world = World::new().await;
    let (one, two) = (world.node("one").start().await, world.node("two").start().await);
    let (mut here, mut there) = (one.api().await, two.api().await);
    until_heard(&mut here, &mut there).await;

    let session = here.create("echo").await.metadata.unwrap().uid;
    let mut watcher = Watching::begin(&mut there, &session).await;
    let mut fastest = POLL;
    for _ in 0..10 {
        let last = here.turn(&session, "hello").await.last().unwrap().seq;
        let ended = Instant::now();
        watcher.skip_to(last).await;
        fastest = fastest.min(ended.elapsed());
    }
    assert!(fastest < POLL / 5, "{fastest:?}");
}

#[tokio::test]
async fn a_turn_that_runs_at_one_node_is_not_taken_over_by_another() {
    let world = World::new().await;
    let harness = HarnessServer::start("waiting").await;
    let node = |name| world.node(name).harness("waiting", harness.address());
    let (one, two) = (node("one").start().await, node("two").start().await);
    let (mut here, mut there) = (one.api().await, two.api().await);
    until_heard(&mut here, &mut there).await;

    let session = here.create("waiting").await.metadata.unwrap().uid;
    let exec = |input| ExecRequest { session: session.clone(), inputs: vec![text(input)], ..ExecRequest::default() };
    let (first, second) = (exec("wait"), exec("me too"));
    let meanwhile = async {
        harness.waiting().await;
        let (_, refused) = there.exec(second).await;
        assert_eq!(refused.unwrap().code(), Code::Aborted);
        harness.release();
    };
    let ((_, failure), ()) = tokio::join!(here.exec(first), meanwhile);
    assert!(failure.is_none(), "{failure:?}");
}

#[tokio::test]
async fn a_registration_is_looked_at_by_the_other_nodes_at_once() {
    let world = World::new().await;
    let seldom = |name| world.node(name).operated().flag("--registry-refresh", "1h");
    let one = seldom("one").flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9").start().await;
    // Without a model it isolates what needs one, which its log tells.
    let _two = seldom("two").start().await;
    world.logged("connected to NATS", 2).await;
    let mut operator = one.operator().await;
    for (count, name) in ["first", "second", "third"].into_iter().enumerate() {
        operator.create(name, remote_spec("127.0.0.1:9")).await;
        timeout(Duration::from_secs(10), world.logged("registered harness isolated", count + 1)).await.unwrap();
    }
}
