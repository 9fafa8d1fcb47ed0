//! Harnesses that are registered through one node.

use std::time::Duration;

use futures::future::join_all;
use support::{Api, HarnessServer, NodeProcess, remote_spec};
use tokio::time::Instant;

use crate::world::{World, until_they_meet};

#[tokio::test]
async fn a_harness_registered_through_one_node_serves_on_all_within_a_second() {
    let world = World::new().await;
    // Nobody finds it by looking.
    let node = |name| {
        let node = world.node(name).operated().flag("--registry-refresh", "1h");
        // Remote harnesses need a model to be named.
        node.flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9")
    };
    let nodes = [node("one").start().await, node("two").start().await, node("three").start().await];
    until_they_meet(&nodes).await;

    let mut took = Vec::new();
    for round in 0..6 {
        let name = format!("harness-{round}");
        let harness = HarnessServer::start(&name).await;
        let mut operator = nodes[round % nodes.len()].operator().await;
        let mut callers = join_all(nodes.iter().map(NodeProcess::api)).await;
        operator.create(&name, remote_spec(harness.address())).await;
        let registered = Instant::now();
        join_all(callers.iter_mut().map(|api| first_turn(api, &name))).await;
        took.push(registered.elapsed());
    }
    took.sort();
    println!("a registered harness serves on {} nodes within {took:?}", nodes.len());
    assert!(took[took.len() / 2] < Duration::from_secs(1), "{took:?}");
}

async fn first_turn(api: &mut Api, harness: &str) {
    let session = api.create(harness).await.metadata.unwrap().uid;
    api.turn(&session, "hello").await;
}
