//! The host that a command talks to.

use client::Client;
use env::Env;
use node::config::{LogConfig, LogFormat};
use node::{Node, telemetry};

use crate::cli::Common;

/// Keeps the host of a command reachable.
pub struct Connection {
    /// The host, if it runs in this process.
    node: Option<Node>,
}

impl Connection {
    /// Connects to the nodes that `common` names, or starts one in this process, which only this process can reach.
    pub async fn open(common: &Common) -> anyhow::Result<(Self, Client)> {
        if let Some(nodes) = common.nodes()? {
            return Ok((Self { node: None }, Client::connect(&nodes).await?));
        }
        // What a host tells its operator and not its clients. Here they are one.
        telemetry::init(&LogConfig { format: LogFormat::Text, filter: "agentsessions::cause=warn".parse()? });
        let (listener, connector) = client::in_process();
        let node = Node::in_process(&common.host, Env::system(), listener).await?;
        Ok((Self { node: Some(node) }, Client::in_process(connector)))
    }

    /// Stops the host if it runs in this process.
    pub async fn close(self) {
        if let Some(node) = self.node {
            node.stop().await;
        }
    }
}
