//! `kill -9` of nodes at the commits of the turns that they run.

use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Cluster, Failpoint, ModelServer, rounds, seeds};

use crate::user::{User, report, sessions};
use crate::worker::{COMMITS, Outside};

/// Turns of each user.
const TURNS: usize = 3;
const NODES: usize = 3;

/// Kills, each at a commit that a node makes soon after it was started.
fn kills(seed: u64) -> Vec<Failpoint> {
    let mut random = StdRng::seed_from_u64(seed);
    let count = rounds(30).max(6);
    let mut kill = || {
        let commit = random.random_range(1..=4 * COMMITS);
        if random.random() { Failpoint::BeforeCommit(commit) } else { Failpoint::AfterCommit(commit) }
    };
    (0..count).map(|_| kill()).collect()
}

async fn turns_under_kills(seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let outside = Outside::start(ModelServer::start().await).await;
    let builder = outside.node(directory.path());
    let uids = sessions(&builder, "worker", rounds(200)).await;

    let mut kills = kills(seed).into_iter();
    let first: Vec<_> = (0..NODES).map(|_| builder.clone().failpoint(kills.next().unwrap())).collect();
    let mut cluster = Cluster::start(first).await;
    let connecting = uids.into_iter().enumerate().map(|(number, uid)| {
        let addresses = cluster.addresses(number % NODES).parse().unwrap();
        async move { User::of(&addresses, uid).await }
    });
    let mut users = join_all(connecting).await;

    let turns = join_all(users.iter_mut().map(async |user| {
        for _ in 0..TURNS {
            user.turn().await;
        }
    }));
    let killed = cluster.tend_while(turns, &builder, kills).await;
    report(&format!("seed {seed}: {killed} kills"), &users);

    let mut api = cluster.api().await;
    for user in &users {
        user.check(&mut api).await;
    }
    let turns = users.len() * TURNS;
    assert_eq!(outside.tools.effects(), turns, "each turn has had its effect once");
    // A call is made again if its node died before the answer was recorded: at most one of each turn that it ran.
    let most = turns + killed * users.len();
    let made = (outside.model.calls(), outside.tools.calls().len());
    assert!((turns..=most).contains(&made.0) && (turns..=most).contains(&made.1), "{made:?} calls in {turns} turns");
}

#[tokio::test]
async fn turns_whose_nodes_are_killed_end_and_their_users_have_each_record_once() {
    for seed in seeds(10) {
        turns_under_kills(seed).await;
    }
}
