//! `kill -9` of nodes at random moments under many turns: how long until others go on.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Cluster, NodeBuilder, rounds, seeds};
use tokio::time::Instant;

use crate::crowd::{Crowd, HEARTBEAT, NODES};
use crate::user::User;

/// Heartbeats after which a silent node is given up.
const SILENCE: u32 = 3;
/// Longest time from a kill to the first record of a successor, in 99 of 100 cases.
const BOUND: Duration = Duration::from_secs(1).saturating_add(HEARTBEAT.saturating_mul(SILENCE));
/// Longest time between a node that is back and the next kill.
const CALM: Duration = Duration::from_millis(1500);

/// Nodes that were killed, by address, and when.
pub type Kills = Vec<(String, Instant)>;

/// Kills nodes, one at a time.
pub async fn kill_nodes(cluster: &mut Cluster, builder: &NodeBuilder, seed: u64) -> Kills {
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
        let mut crowd = Crowd::gather(|builder| builder).await;
        let kills = crowd.work_during(async |cluster, builder| kill_nodes(cluster, builder, seed).await).await;
        crowd.check().await;
        let gaps = gaps(&kills, &crowd.users);
        let of = |percent: usize| gaps[gaps.len() * percent / 100];
        println!(
            "seed {seed}: {} kills under {} concurrent turns, {} taken over; from the kill to the successor's first record \
             p50 {:?}, p99 {:?}, bound {BOUND:?}",
            kills.len(),
            crowd.users.len(),
            gaps.len(),
            of(50),
            of(99)
        );
        assert!(of(99) <= BOUND, "{gaps:?}");
    }
}
