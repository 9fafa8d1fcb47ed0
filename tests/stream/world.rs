use std::fmt::Write as _;
use std::path::PathBuf;

use hex::encode;
use sha2::{Digest, Sha256};
use support::{AgentServer, NodeBuilder, NodeProcess};
use tempfile::TempDir;

/// A journal, and the example agents.
pub struct World {
    pub directory: TempDir,
    agents: AgentServer,
}

impl World {
    pub async fn new() -> Self {
        Self::of(AgentServer::start().await)
    }

    /// A journal, and agents of the test's own.
    pub fn of(agents: AgentServer) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), agents }
    }

    /// A node without streams.
    fn bare(&self) -> NodeBuilder {
        NodeBuilder::new(self.directory.path()).harness("agents", self.agents.address()).watched()
    }

    /// A node that lets everybody in.
    pub fn node(&self) -> NodeBuilder {
        self.bare().streaming()
    }

    /// A node that lets in who has one of these tokens, each with an account, to do what the rules say.
    pub fn guarded(&self, tokens: &[(&str, &str)], rules: &str) -> NodeBuilder {
        let mut keys = String::new();
        for (token, account) in tokens {
            let digest = encode(Sha256::digest(token));
            writeln!(keys, "[[key]]\nsha256 = \"{digest}\"\naccount = \"{account}\"\nprincipal = \"user:{account}\"")
                .unwrap();
        }
        let auth = self.file("auth.toml", &keys);
        let policy = self.file("policy.toml", rules);
        let node = self.bare().flag("--streams-addr", "127.0.0.1:0");
        node.flag("--streams-auth-file", auth).flag("--streams-policy-file", policy)
    }

    /// A file, replaced as a whole if it is there.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
        path
    }

    /// How large the files of the journal are.
    pub fn journal_bytes(&self) -> u64 {
        let files = std::fs::read_dir(self.directory.path()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }

    /// What the nodes have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(NodeBuilder::new(self.directory.path()).log()).unwrap_or_default()
    }
}

/// Lets everybody who is known do everything there is.
pub const EVERYTHING: &str = r#"
[[rule]]
principals = ["*"]
applications = ["lab"]
environments = ["dev"]
agent_types = ["*"]
methods = ["*"]
"#;

/// A world with one node that lets everybody in.
pub async fn development() -> (World, NodeProcess) {
    let world = World::new().await;
    let node = world.node().start().await;
    (world, node)
}
