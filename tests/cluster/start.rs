//! Turns that arrive the moment a node reports that it is ready.

use support::{ModelServer, rounds};

use crate::user::{User, sessions};
use crate::worker::Outside;
use crate::world::World;

#[tokio::test]
async fn a_turn_fired_as_a_node_reports_ready_runs_once() {
    let world = World::new().await;
    let outside = Outside::start(ModelServer::start().await).await;
    let builder = world.joined(outside.node(world.directory.path()));
    let uid = sessions(&builder, "worker", 1).await.remove(0);
    let mut told = Vec::new();
    let rounds = rounds(200);
    for _ in 0..rounds {
        // Killed at the end of each round, as soon as its only turn has ended.
        let node = builder.start().await;
        let mut user = User::of(&node.address().parse().unwrap(), uid.clone()).await;
        user.turn().await;
        told.append(&mut user.records);
    }
    let node = builder.start().await;
    let mut user = User::of(&node.address().parse().unwrap(), uid).await;
    (user.records, user.turns) = (told, rounds);
    user.check(&mut node.api().await).await;
    assert_eq!((outside.model.calls(), outside.tools.effects()), (rounds, rounds));
}
