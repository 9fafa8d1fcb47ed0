//! What nodes hear of each other at once.

use std::time::Duration;

use support::remote_spec;
use tokio::time::{Instant, timeout};

use crate::world::{Watching, World, until_they_meet};

/// How often a watch asks the journal while it hears nothing.
const POLL: Duration = Duration::from_secs(1);

#[tokio::test]
async fn what_happens_at_one_node_is_heard_at_another_at_once() {
    let world = World::new().await;
    let nodes = [world.node("one").start().await, world.node("two").start().await];
    until_they_meet(&nodes).await;
    let (mut here, mut there) = (nodes[0].api().await, nodes[1].api().await);

    let session = here.create("echo").await.metadata.unwrap().uid;
    let mut watcher = Watching::begin(&mut there, &session).await;
    let mut fastest = POLL;
    for _ in 0..10 {
        let last = here.turn(&session, "hello").await.last().unwrap().seq;
        let ended = Instant::now();
        watcher.skip_to(last).await;
        fastest = fastest.min(ended.elapsed());
    }
    // One that heard nothing would ask a whole period after it had caught up with the turn before.
    assert!(fastest < POLL / 4, "{fastest:?}");
}

#[tokio::test]
async fn a_registration_is_looked_at_by_the_other_nodes_at_once() {
    let world = World::new().await;
    let seldom = |name| world.node(name).operated().flag("--registry-refresh", "1h");
    let one = seldom("one").flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9");
    // Without a model it isolates what needs one, which its log tells.
    let nodes = [one.start().await, seldom("two").start().await];
    until_they_meet(&nodes).await;
    let mut operator = nodes[0].operator().await;
    for (count, name) in ["first", "second", "third"].into_iter().enumerate() {
        operator.create(name, remote_spec("127.0.0.1:9")).await;
        timeout(Duration::from_secs(10), world.logged("registered harness isolated", count + 1)).await.unwrap();
    }
}
