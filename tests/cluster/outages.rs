//! NATS is never the truth: whatever becomes of it, work goes on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Api, Cable, NodeProcess, rounds};
use tokio::time::Instant;

use crate::world::{World, until_they_meet};

/// Clients, each with one session at a time, that change nodes as they like.
const CLIENTS: usize = 16;

/// Records of an echo turn.
const TURN: usize = 5;

/// Turns of a session before its client begins another: turns of a long one cost more wherever NATS is.
const TURNS: usize = 200;

/// What clients have done so far.
#[derive(Default)]
struct Load {
    turns: AtomicUsize,
    over: AtomicBool,
}

impl Load {
    /// Runs turns on one session after the other, each turn on any node. Every one of them must go well.
    async fn client(&self, mut nodes: Vec<Api>, seed: u64) -> Vec<(String, usize)> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut sessions = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let session = nodes[0].create("echo").await.metadata.unwrap().uid;
            let mut turns = 0;
            while turns < TURNS && !self.over.load(Ordering::Relaxed) {
                let node = random.random_range(0..nodes.len());
                nodes[node].turn(&session, "hello").await;
                turns += 1;
                self.turns.fetch_add(1, Ordering::Relaxed);
            }
            sessions.push((session, turns));
        }
        sessions
    }

    /// Turns a second, for as long as a phase takes.
    async fn phase(&self, name: &str) -> f64 {
        let length = Duration::from_millis(rounds(15_000) as u64);
        let (begun, before) = (Instant::now(), self.turns.load(Ordering::Relaxed));
        tokio::time::sleep(length).await;
        let rate = (self.turns.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64();
        println!("{name}: {rate:.0} turns/s");
        rate
    }
}

#[tokio::test]
async fn no_turn_fails_while_nats_is_killed_restarted_and_cut_off() {
    let mut world = World::new().await;
    let cable = Cable::to(&world.server.address()).await;
    let nodes = [
        world.node("one").start().await,
        world.node("two").start().await,
        world.node_through(cable.address(), "three").start().await,
    ];
    until_they_meet(&nodes).await;
    let load = Load::default();
    let clients = join_all((0..CLIENTS as u64).map(|seed| {
        let (load, nodes) = (&load, &nodes);
        async move { load.client(join_all(nodes.iter().map(NodeProcess::api)).await, seed).await }
    }));
    let story = async {
        let before = load.phase("NATS is there").await;
        world.server.kill();
        load.phase("NATS is gone").await;
        world.server.restart().await;
        load.phase("NATS is back, and empty").await;
        cable.cut();
        load.phase("one node is cut off from NATS").await;
        cable.mend();
        let after = load.phase("all is as it was").await;
        load.over.store(true, Ordering::Relaxed);
        (before, after)
    };
    let (sessions, (before, after)) = tokio::join!(clients, story);

    assert!(after > before / 3.0, "throughput does not recover: {before:.0}, then {after:.0} turns/s");
    let mut api = nodes[0].api().await;
    for (session, turns) in sessions.into_iter().flatten() {
        assert_eq!(api.log(&session).await.len(), turns * TURN, "every turn is there once");
    }
    until_they_meet(&nodes).await;
}

#[tokio::test]
async fn a_node_tells_how_it_stands_with_the_others() {
    let mut world = World::new().await;
    let one = world.node("one").watched().start().await;
    let _two = world.node("two").start().await;
    let (connected, nodes) = ("agentsessions_nats_connected", "agentsessions_nats_nodes");
    one.watcher().until(|now| now.value(connected) == Some(1.0) && now.value(nodes) == Some(1.0)).await;
    world.server.kill();
    let now = one.watcher().until(|now| now.value(connected) == Some(0.0)).await;
    assert_eq!(now.value(nodes), Some(0.0));
    assert!(now.value("agentsessions_nats_losses_total") > Some(0.0));
    assert_eq!(now.value("agentsessions_nats_undecodable_messages_total"), Some(0.0));
}
