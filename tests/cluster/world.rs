use std::time::Duration;

use support::{Api, BOUND, NatsServer, NodeBuilder, NodeProcess};
use tempfile::TempDir;
use tokio::time::{Instant, timeout};
use tonic::Streaming;
use wire::exec_update::Update;
use wire::{ExecUpdate, WatchRequest};

/// How often the nodes of most tests say that they are there.
pub const HEARTBEAT: Duration = Duration::from_millis(100);

/// A journal, and a NATS server.
pub struct World {
    pub directory: TempDir,
    pub server: NatsServer,
    heartbeat: Duration,
}

impl World {
    pub async fn new() -> Self {
        Self::beating(HEARTBEAT).await
    }

    /// One whose nodes say so often that they are there. A busy machine makes them late: nodes that must not be given up
    /// need a slow beat.
    pub async fn beating(heartbeat: Duration) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), server: NatsServer::start().await, heartbeat }
    }

    /// A node on the journal that reaches the server directly.
    pub fn node(&self, name: &str) -> NodeBuilder {
        self.node_through(&self.server.address(), name)
    }

    /// A node on the journal that reaches the server at `host:port`.
    pub fn node_through(&self, address: &str, name: &str) -> NodeBuilder {
        self.through(address, NodeBuilder::new(self.directory.path())).flag("--node-name", name).watched()
    }

    /// The same node, which reaches the server.
    pub fn joined(&self, node: NodeBuilder) -> NodeBuilder {
        self.through(&self.server.address(), node)
    }

    fn through(&self, address: &str, node: NodeBuilder) -> NodeBuilder {
        let heartbeat = format!("{}ms", self.heartbeat.as_millis());
        node.flag("--nats-url", format!("nats://{address}")).flag("--nats-heartbeat", heartbeat)
    }

    /// Waits until the nodes have logged `line` so often.
    pub async fn logged(&self, line: &str, times: usize) {
        let log = NodeBuilder::new(self.directory.path()).log();
        let deadline = Instant::now() + BOUND;
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.matches(line).count() >= times {
                return;
            }
            assert!(Instant::now() < deadline, "{line:?} is not logged {times} times:\n{text}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// What a watcher of a session hears.
pub struct Watching(Streaming<ExecUpdate>);

impl Watching {
    /// Watches a session through a node, from its beginning.
    pub async fn begin(api: &mut Api, session: &str) -> Self {
        let request = WatchRequest { session: session.into(), after_seq: 0 };
        Self(api.client.watch(request).await.unwrap().into_inner())
    }

    /// The next update, which must come.
    pub async fn next(&mut self) -> Update {
        let update = timeout(BOUND, self.0.message()).await.expect("there is something to hear");
        update.unwrap().unwrap().update.unwrap()
    }

    /// Skips to the record at `seq`.
    pub async fn skip_to(&mut self, seq: i64) {
        loop {
            match self.next().await {
                Update::Record(record) if record.seq == seq => return,
                _ => {}
            }
        }
    }
}

/// Waits until each of the nodes hears all the others.
pub async fn until_they_meet(nodes: &[NodeProcess]) {
    let others = (nodes.len() - 1) as f64;
    for node in nodes {
        node.watcher().until(|now| now.value("agentsessions_nats_nodes") == Some(others)).await;
    }
}
