//! Many users whose turns run at once, slowly, while something is done to what runs them.

use std::cell::Cell;
use std::time::Duration;

use futures::future::join_all;
use support::{Cluster, ModelServer, NodeBuilder, rounds};

use crate::user::{User, sessions};
use crate::worker::Outside;
use crate::world::World;

pub const NODES: usize = 3;
pub const HEARTBEAT: Duration = Duration::from_millis(500);
/// Of the harness before each step: a turn takes some seconds without keeping the machine busy.
const PACE: Duration = Duration::from_secs(2);

/// 200 users of three nodes.
pub struct Crowd {
    pub users: Vec<User>,
    pub cluster: Cluster,
    /// How its nodes are started.
    pub builder: NodeBuilder,
    outside: Outside,
    _world: World,
}

impl Crowd {
    /// Of nodes that `equip` has had the last word on.
    pub async fn gather(equip: impl FnOnce(NodeBuilder) -> NodeBuilder) -> Self {
        let world = World::beating(HEARTBEAT).await;
        let outside = Outside::paced(ModelServer::start().await, PACE).await;
        let builder = equip(world.joined(outside.node(world.directory.path())));
        let uids = sessions(&builder, "worker", rounds(200)).await;
        let cluster = Cluster::start((0..NODES).map(|_| builder.clone())).await;
        let connecting = uids.into_iter().enumerate().map(|(number, uid)| {
            let addresses = cluster.addresses(number % NODES).parse().unwrap();
            async move { User::of(&addresses, uid).await }
        });
        let users = join_all(connecting).await;
        Self { users, cluster, builder, outside, _world: world }
    }

    /// Has every user run one turn after the other until `trouble` is over, and each of them end.
    pub async fn work_during<T>(&mut self, trouble: impl AsyncFnOnce(&mut Cluster, &NodeBuilder) -> T) -> T {
        let over = Cell::new(false);
        let turns = join_all(self.users.iter_mut().map(async |user| {
            while !over.get() {
                user.turn().await;
            }
        }));
        let troubled = async {
            let outcome = trouble(&mut self.cluster, &self.builder).await;
            over.set(true);
            outcome
        };
        tokio::join!(turns, troubled).1
    }

    /// Nothing that a user was told is lost or there twice, and each turn has had its effect once.
    pub async fn check(&self) {
        let mut api = self.cluster.api().await;
        for user in &self.users {
            user.check(&mut api).await;
        }
        let turns: usize = self.users.iter().map(|user| user.turns).sum();
        assert_eq!(self.outside.tools.effects(), turns, "each turn has had its effect once");
    }
}
