//! Nodes as processes on one journal.

use std::future::Future;
use std::time::Duration;

use rand::RngExt;
use tokio::net::TcpListener;

use crate::{Api, BOUND, Failpoint, NodeBuilder, NodeProcess};

/// How often dead nodes are looked for.
const TEND: Duration = Duration::from_millis(10);

/// Some nodes, each with an address that it keeps when it is started again.
pub struct Cluster {
    nodes: Vec<NodeProcess>,
}

impl Cluster {
    /// Starts a node for each builder.
    pub async fn start(builders: impl IntoIterator<Item = NodeBuilder>) -> Self {
        let mut nodes = Vec::new();
        for builder in builders {
            nodes.push(builder.at(&free_address().await).start().await);
        }
        Self { nodes }
    }

    /// The addresses of all nodes, separated by commas, that of the node number `first` first.
    #[must_use]
    pub fn addresses(&self, first: usize) -> String {
        let (before, after) = self.nodes.split_at(first);
        let addresses: Vec<_> = after.iter().chain(before).map(NodeProcess::address).collect();
        addresses.join(",")
    }

    /// A client of one of the nodes, which runs.
    pub async fn api(&self) -> Api {
        self.nodes.first().expect("a cluster has nodes").api().await
    }

    /// Kills a node as `kill -9` does. Returns its address.
    pub fn kill(&mut self, number: usize) -> String {
        let node = &mut self.nodes[number];
        node.kill();
        node.address().to_owned()
    }

    /// Starts a node again after [`Cluster::kill`], where it was.
    pub async fn restart(&mut self, number: usize, builder: &NodeBuilder) {
        let node = &mut self.nodes[number];
        *node = builder.clone().at(node.address()).start().await;
    }

    /// Does `work`, and starts nodes again that die meanwhile: each with the next of the failpoints, and without one when
    /// there are none left. Returns how many have died. All nodes run in the end.
    pub async fn tend_while(
        &mut self,
        work: impl Future,
        builder: &NodeBuilder,
        mut failpoints: impl Iterator<Item = Failpoint>,
    ) -> usize {
        let mut died = 0;
        let tend = async {
            loop {
                tokio::time::sleep(TEND).await;
                for node in self.nodes.iter_mut().filter_map(|node| (!node.is_running()).then_some(node)) {
                    died += 1;
                    let next = failpoints.next();
                    let builder = next.map_or_else(|| builder.clone(), |next| builder.clone().failpoint(next));
                    *node = builder.at(node.address()).start().await;
                }
            }
        };
        tokio::select! {
            _ = work => {}
            () = tend => {}
        }
        for node in &mut self.nodes {
            node.kill();
            *node = builder.clone().at(node.address()).start().await;
        }
        died
    }

    /// Stops each node in its orderly way and starts it again, one after the other.
    pub async fn roll(&mut self, builder: &NodeBuilder) {
        for node in &mut self.nodes {
            node.terminate();
            node.wait(BOUND).await;
            *node = builder.clone().at(node.address()).start().await;
        }
    }
}

/// An address that nothing listens on. Its port is none of those that the system gives to connections, so that nobody takes
/// it while its node is away.
async fn free_address() -> String {
    loop {
        let address = format!("127.0.0.1:{}", rand::rng().random_range(10_000..30_000));
        if TcpListener::bind(&address).await.is_ok() {
            return address;
        }
    }
}
