//! Nodes that are stopped and started again, one after the other, under live turns.

use std::cell::Cell;
use std::time::Duration;

use futures::future::join_all;
use support::{Cluster, ModelServer, rounds};

use crate::user::{User, report, sessions};
use crate::worker::Outside;
use crate::world::World;

const NODES: usize = 3;
/// Long enough that a node which is told to stop has turns under way.
const THINKS: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_rolling_restart_is_a_pause_for_turns_and_nothing_else() {
    let world = World::new().await;
    let outside = Outside::start(ModelServer::thinking(THINKS).await).await;
    let builder = world.joined(outside.node(world.directory.path())).flag("--drain-timeout", "100ms");
    let uids = sessions(&builder, "worker", rounds(100)).await;
    let mut cluster = Cluster::start((0..NODES).map(|_| builder.clone())).await;
    let connecting = uids.into_iter().enumerate().map(|(number, uid)| {
        let addresses = cluster.addresses(number % NODES).parse().unwrap();
        async move { User::of(&addresses, uid).await }
    });
    let mut users = join_all(connecting).await;

    let rolled = Cell::new(false);
    let turns = join_all(users.iter_mut().map(async |user| {
        while !rolled.get() {
            user.turn().await;
        }
        user.turn().await;
    }));
    let rolling = async {
        cluster.roll(&builder).await;
        rolled.set(true);
    };
    tokio::join!(turns, rolling);
    report("rolling restart", &users);

    let mut api = cluster.api().await;
    for user in &users {
        user.check(&mut api).await;
    }
    let turns: usize = users.iter().map(|user| user.turns).sum();
    assert_eq!(outside.tools.effects(), turns, "each turn has had its effect once");
}
