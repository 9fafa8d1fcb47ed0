//! A harness of agents, by default the examples (docs/agents.md), on loopback, in the process of the test.

use std::future;

use env::{TaskKind, Tasks};
use tokio::net::TcpListener;

/// Agents, for any number of nodes. Stops when the test's runtime ends.
pub struct AgentServer {
    address: String,
}

impl AgentServer {
    /// Starts one of the example agents on a free port.
    pub async fn start() -> Self {
        Self::serving(harness::example_agents()).await
    }

    /// Starts one of other agents.
    pub async fn serving(agents: sdk::Agents) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        Tasks::default().spawn("agent server", TaskKind::Background, async move {
            sdk::serve(agents, listener, future::pending()).await.expect("the harness server runs");
        });
        Self { address }
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}
