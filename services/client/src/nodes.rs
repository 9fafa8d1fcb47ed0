//! The nodes that a client may call, and which of them takes the next call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tonic::Status;
use tonic::transport::Channel;

use crate::{Address, Addresses, ConnectError, Error, NoConnection, Options};

/// All nodes, in the order of their addresses. Calls stay with one node until it fails, and then go on to the next, round
/// and round: a dead one is asked again when all others have failed since. Cheap to clone; clones share the choice.
#[derive(Clone)]
pub(crate) struct Nodes(Arc<Ring>);

struct Ring {
    nodes: Vec<(Arc<str>, Channel)>,
    /// Position of the node that takes the next call.
    chosen: AtomicUsize,
}

/// A node as it was chosen for a call.
#[derive(Clone)]
pub(crate) struct Node {
    position: usize,
    name: Arc<str>,
    channel: Channel,
}

impl Nodes {
    /// Connects to the first of `addresses` where something answers; to the others when they are needed.
    pub(crate) async fn connect(addresses: &Addresses, options: &Options) -> Result<Self, ConnectError> {
        let mut unreachable = Vec::new();
        for (position, address) in addresses.iter().enumerate() {
            match address.connect(options).await {
                Ok(channel) => return Self::connected(addresses, options, position, &channel),
                Err(source) => unreachable.push(NoConnection { address: address.clone(), source }),
            }
        }
        Err(ConnectError(unreachable))
    }

    fn connected(
        addresses: &Addresses,
        options: &Options,
        chosen: usize,
        channel: &Channel,
    ) -> Result<Self, ConnectError> {
        let node = |(position, address): (usize, &Address)| {
            let channel = if position == chosen { Ok(channel.clone()) } else { address.connect_lazily(options) };
            match channel {
                Ok(channel) => Ok((address.to_string().into(), channel)),
                Err(source) => Err(ConnectError(vec![NoConnection { address: address.clone(), source }])),
            }
        };
        let nodes = addresses.iter().enumerate().map(node).collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(Ring { nodes, chosen: AtomicUsize::new(chosen) })))
    }

    /// A single node.
    pub(crate) fn single(name: &str, channel: Channel) -> Self {
        Self(Arc::new(Ring { nodes: vec![(name.into(), channel)], chosen: AtomicUsize::new(0) }))
    }

    /// The node that takes the next call.
    pub(crate) fn chosen(&self) -> Node {
        let position = self.0.chosen.load(Ordering::Relaxed);
        let (name, channel) = self.0.nodes[position].clone();
        Node { position, name, channel }
    }

    /// Why a call at `node` failed, which is given up if that says that it is of no use.
    pub(crate) fn failed(&self, node: &Node, status: &Status, request_id: &str) -> Error {
        self.at_node(node, Error::from_status(status, request_id))
    }

    /// Why a call at `node` was not answered within its bound.
    pub(crate) fn silent(&self, node: &Node, bound: Duration, request_id: &str) -> Error {
        self.at_node(node, Error::no_answer(bound, request_id))
    }

    fn at_node(&self, node: &Node, error: Error) -> Error {
        let error = error.at(&node.name);
        self.heard(node, &error);
        error
    }

    /// Goes on to the next node, if `error` says that `node` is of no use and no other call has gone on already.
    fn heard(&self, node: &Node, error: &Error) {
        if error.is_broken_connection() {
            tracing::debug!(node = %node.name, %error, "the node is lost");
            let next = (node.position + 1) % self.0.nodes.len();
            // Whoever is late has nothing to do: the choice has moved on from this node.
            let _ = self.0.chosen.compare_exchange(node.position, next, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

impl Node {
    /// Its address, for people.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }
}

#[cfg(test)]
mod tests {
    use tonic::Status;
    use tonic::transport::Endpoint;

    use super::*;

    fn three() -> Nodes {
        let channel = || Endpoint::from_static("http://127.0.0.1:9").connect_lazy();
        let nodes = ["a", "b", "c"].map(|name| (name.into(), channel())).into();
        Nodes(Arc::new(Ring { nodes, chosen: AtomicUsize::new(0) }))
    }

    fn unavailable() -> Error {
        Error::from_status(&Status::unavailable("going away"), "id")
    }

    #[tokio::test]
    async fn calls_stay_with_a_node_until_it_fails_and_go_round() {
        let nodes = three();
        let mut visited = Vec::new();
        for _ in 0..4 {
            let node = nodes.chosen();
            assert_eq!(node.name, nodes.chosen().name);
            visited.push(node.name.to_string());
            nodes.heard(&node, &unavailable());
        }
        assert_eq!(visited, ["a", "b", "c", "a"]);
    }

    #[tokio::test]
    async fn calls_that_fail_together_go_on_by_one_node() {
        let nodes = three();
        let (one, other) = (nodes.chosen(), nodes.chosen());
        nodes.heard(&one, &unavailable());
        nodes.heard(&other, &unavailable());
        assert_eq!(&*nodes.chosen().name, "b");
    }

    #[tokio::test]
    async fn an_answer_that_another_node_would_give_too_changes_nothing() {
        let nodes = three();
        nodes.heard(&nodes.chosen(), &Error::from_status(&Status::aborted("busy"), "id"));
        assert_eq!(&*nodes.chosen().name, "a");
    }
}
