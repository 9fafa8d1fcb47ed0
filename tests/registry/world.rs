//! What most tests start from.

use std::fmt::Debug;

use support::{HarnessServer, NodeBuilder, NodeProcess, Operator, remote_spec};
use tempfile::TempDir;
use tonic::{Code, Status};
use wire::HarnessRegistration;
use wire::HarnessSpec;

/// A journal, a harness, and a node with a model that operators can reach.
pub struct World {
    pub directory: TempDir,
    pub harness: HarnessServer,
    pub node: NodeProcess,
    pub operator: Operator,
}

impl World {
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let harness = HarnessServer::start("scripted").await;
        let node = with_model(&directory).start().await;
        let operator = node.operator().await;
        Self { directory, harness, node, operator }
    }

    /// The spec of the harness.
    pub fn spec(&self) -> HarnessSpec {
        remote_spec(self.harness.address())
    }

    /// A node on the same journal that has no model and so cannot serve remote harnesses.
    pub async fn node_without_model(&self) -> NodeProcess {
        NodeBuilder::new(self.directory.path()).operated().start().await
    }
}

/// A node that can serve remote harnesses.
pub fn with_model(directory: &TempDir) -> NodeBuilder {
    NodeBuilder::new(directory.path()).operated().flag("--model", "m")
}

/// The code of a refusal.
#[track_caller]
pub fn refused<T: Debug>(result: Result<T, Status>) -> Code {
    result.expect_err("the call is refused").code()
}

/// The name of a registration.
pub fn name(harness: &HarnessRegistration) -> &str {
    &harness.metadata.as_ref().unwrap().name
}
