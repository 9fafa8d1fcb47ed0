//! `kill -9` of nodes at random moments under many turns: how long until others go on.

use std::cell::Cell;
use std::time::Duration;

use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Cluster, ModelServer, rounds, seeds};
use tokio::time::Instant;

use crate::user::{User, sessions};
use crate::worker::Outside;
use crate::world::World;

const NODES: usize = 3;
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Heartbeats after which a silent node is given up.
const SILENCE: u32 = 3;
/// Longest time from a kill to the first record of a successor, in 99 of 100 cases.
const BOUND: Duration = Duration::from_secs(1).saturating_add(HEARTBEAT.saturating_mul(SILENCE));
/// Of the harness before each step: a turn takes some seconds without keeping the machine busy.
const PACE: Duration = Duration::from_secs(2);
/// Longest time between a node that is back and the next kill.
const CALM: Duration = Duration::from_millis(1500);

/// Nodes that were killed, by address, and when.
type Kills = Vec<(String, Instant)>;

/// Kills nodes, one at a time.
async fn kill_nodes(cluster: &mut Cluster, builder: &support::NodeBuilder, seed: u64) -> Kills {
    let mut random = StdRng::seed_from_u64(seed);
    let mut kills = Kills::new();
    for _ in 0..rounds(30).max(5) {
        tokio::time::sleep(CALM.mul_f64(random.random())).await;
        let number = random.random_range(0..NODES);
        kills.push((cluster.kill(number), Instant::now()));
        cluster.restart(number, builder).await;
    }
    kills
}

/// From each kill to the first record of each successor.
fn gaps(kills: &Kills, users: &[User]) -> Vec<Duration> {
    let successions = users.iter().flat_map(|user| &user.successions);
    let mut gaps: Vec<_> = successions
        .map(|(lost, at)| {
            let kill = kills.iter().rfind(|(node, killed)| **node == **lost && killed <= at);
            at.duration_since(kill.expect("a node is lost by being killed").1)
        })
        .collect();
    gaps.sort();
    gaps
}

#[tokio::test]
async fn turns_of_killed_nodes_go_on_at_others_within_the_bound() {
    for seed in seeds(1) {
        let world = World::beating(HEARTBEAT).await;
        let outside = Outside::paced(ModelServer::start().await, PACE).await;
        let builder = world.joined(outside.node(world.directory.path()));
        let uids = sessions(&builder, "worker", rounds(200)).await;
        let mut cluster = Cluster::start((0..NODES).map(|_| builder.clone())).await;
        let connecting = uids.into_iter().enumerate().map(|(number, uid)| {
            let addresses = cluster.addresses(number % NODES).parse().unwrap();
            async move { User::of(&addresses, uid).await }
        });
        let mut users = join_all(connecting).await;

        let over = Cell::new(false);
        let turns = join_all(users.iter_mut().map(async |user| {
            while !over.get() {
                user.turn().await;
            }
        }));
        let killing = async {
            let kills = kill_nodes(&mut cluster, &builder, seed).await;
            over.set(true);
            kills
        };
        let (_, kills) = tokio::join!(turns, killing);

        let mut api = cluster.api().await;
        for user in &users {
            user.check(&mut api).await;
        }
        let turns: usize = users.iter().map(|user| user.turns).sum();
        assert_eq!(outside.tools.effects(), turns, "each turn has had its effect once");
        let gaps = gaps(&kills, &users);
        let of = |percent: usize| gaps[gaps.len() * percent / 100];
        println!(
            "seed {seed}: {} kills under {} concurrent turns, {} taken over; from the kill to the successor's first record \
             p50 {:?}, p99 {:?}, bound {BOUND:?}",
            kills.len(),
            users.len(),
            gaps.len(),
            of(50),
            of(99)
        );
        assert!(of(99) <= BOUND, "{gaps:?}");
    }
}
