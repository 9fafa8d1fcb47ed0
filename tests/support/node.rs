//! A node as a process of its own.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::{Api, BOUND, JournalPlace, Operator, Watcher, binary, connect};

/// What goes wrong in a node.
#[derive(Clone, Copy, Debug)]
pub enum Failpoint {
    /// It kills itself, as by `kill -9`, before its n-th commit, counted from 1.
    BeforeCommit(u32),
    /// The same after its n-th commit, before anyone is told.
    AfterCommit(u32),
    /// It is not told how so many of 100 commits went, every second of which happens.
    UnknownOutcomes(u32),
    /// So many of 100 reads and commits take up to twice as long as a transaction lives.
    SlowCalls(u32),
}

impl fmt::Display for Failpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeCommit(n) => write!(f, "before-commit:{n}"),
            Self::AfterCommit(n) => write!(f, "after-commit:{n}"),
            Self::UnknownOutcomes(percent) => write!(f, "unknown-outcomes:{percent}"),
            Self::SlowCalls(percent) => write!(f, "slow-calls:{percent}"),
        }
    }
}

/// How to start a node over the journal of a directory.
#[derive(Clone, Debug)]
pub struct NodeBuilder {
    directory: PathBuf,
    journal: JournalPlace,
    address: String,
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
    failpoint: Option<Failpoint>,
}

impl NodeBuilder {
    /// A node over the journal of `directory`.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.into(),
            journal: JournalPlace::of(directory),
            address: "127.0.0.1:0".into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            failpoint: None,
        }
    }

    /// Takes the journal of another directory.
    #[must_use]
    pub fn journal_of(self, directory: &Path) -> Self {
        Self { journal: JournalPlace::of(directory), ..self }
    }

    /// Takes a journal of its own in this FoundationDB cluster.
    #[cfg(feature = "fdb")]
    #[must_use]
    pub fn in_cluster(self, cluster_file: &Path) -> Self {
        Self { journal: JournalPlace::in_cluster(cluster_file, &self.directory), ..self }
    }

    /// Has the node listen at this address instead of a free port.
    #[must_use]
    pub fn at(self, address: &str) -> Self {
        Self { address: address.into(), ..self }
    }

    /// Adds a flag with its value.
    #[must_use]
    pub fn flag(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.arguments.push(name.into());
        self.arguments.push(value.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a flag that needs no value.
    #[must_use]
    pub fn switch(mut self, name: &str) -> Self {
        self.arguments.push(name.into());
        self
    }

    /// Adds a listener for operators.
    #[must_use]
    pub fn operated(self) -> Self {
        self.flag("--registry-addr", "127.0.0.1:0")
    }

    /// Adds a listener for stream sessions that lets everybody in.
    #[must_use]
    pub fn streaming(self) -> Self {
        self.flag("--streams-addr", "127.0.0.1:0").switch("--streams-development")
    }

    /// Adds a listener for those who watch the node.
    #[must_use]
    pub fn watched(self) -> Self {
        self.flag("--metrics-addr", "0")
    }

    /// Adds the harness at `address`, which asks no model for anything.
    #[must_use]
    pub fn harness(self, name: &str, address: &str) -> Self {
        let builder = self.flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9");
        builder.flag("--harness", format!("{name}={address}"))
    }

    /// Lets the node fail so.
    #[must_use]
    pub fn failpoint(self, failpoint: Failpoint) -> Self {
        Self { failpoint: Some(failpoint), ..self }
    }

    /// Where the journal is.
    #[must_use]
    pub fn journal(&self) -> &JournalPlace {
        &self.journal
    }

    /// The file to which the node logs, kept for a test that fails.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.directory.join("node.log")
    }

    /// Starts the node and waits until it serves.
    pub async fn start(&self) -> NodeProcess {
        let ready = tempfile::Builder::new().prefix("ready-").tempdir_in(&self.directory).expect("a directory");
        let file = ready.path().join("address");
        let mut child = self.command(&file).stderr(log_file(&self.log())).spawn().expect("agentsessionsd starts");
        let addresses = wait_for_addresses(&file, &mut child).await;
        NodeProcess { child, addresses }
    }

    /// Starts a node that must refuse to run, and returns what it says on standard error.
    pub async fn refusal(&self) -> String {
        let said = tempfile::NamedTempFile::new_in(&self.directory).expect("a file");
        let stderr = said.reopen().expect("a second handle");
        let mut command = self.command(&self.directory.join("never-ready"));
        let child = command.stderr(stderr).spawn().expect("agentsessionsd starts");
        let status = NodeProcess { child, addresses: Vec::new() }.wait(BOUND).await;
        let said = std::fs::read_to_string(said.path()).expect("standard error is text");
        assert_eq!(status.code(), Some(1), "{:?}: {said}", self.arguments);
        said
    }

    fn command(&self, ready_file: &Path) -> Command {
        let mut command = Command::new(binary("agentsessionsd"));
        command
            .args(["--addr", &self.address])
            .args(self.journal.settings().into_iter().flat_map(|(name, value)| [format!("--{name}").into(), value]))
            .arg("--ready-file")
            .arg(ready_file)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.env_remove("AGENTSESSIONS_FAILPOINT").envs(self.environment.iter().cloned());
        if let Some(failpoint) = self.failpoint {
            command.env("AGENTSESSIONS_FAILPOINT", failpoint.to_string());
        }
        command
    }
}

fn log_file(path: &Path) -> Stdio {
    let file = std::fs::File::options().append(true).create(true).open(path);
    file.map_or_else(|_| Stdio::null(), Stdio::from)
}

async fn wait_for_addresses(file: &Path, child: &mut Child) -> Vec<String> {
    let deadline = Instant::now() + BOUND;
    loop {
        if let Ok(addresses) = std::fs::read_to_string(file) {
            return addresses.lines().map(str::to_owned).collect();
        }
        if let Ok(Some(status)) = child.try_wait() {
            panic!("agentsessionsd ended before it was ready: {status}");
        }
        assert!(Instant::now() < deadline, "agentsessionsd did not become ready");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A running node. Killed when dropped.
#[derive(Debug)]
pub struct NodeProcess {
    child: Child,
    /// That of Sessions first.
    addresses: Vec<String>,
}

impl NodeProcess {
    /// `host:port` of the Sessions listener.
    #[must_use]
    pub fn address(&self) -> &str {
        self.addresses.first().expect("a node that is ready says where")
    }

    /// `host:port` of the listener for operators.
    #[must_use]
    pub fn operator_address(&self) -> &str {
        self.addresses.get(1).expect("the node was started with a listener for operators")
    }

    /// `host:port` of the listener for stream sessions.
    #[must_use]
    pub fn streams_address(&self) -> &str {
        let address = self.addresses.iter().find_map(|line| line.strip_prefix("streams "));
        address.expect("the node was started with a listener for stream sessions")
    }

    /// Whoever watches the node.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        let address = self.addresses.iter().find_map(|line| line.strip_prefix("metrics "));
        Watcher::new(address.expect("the node was started with a listener for those who watch it"))
    }

    /// An operator of the node.
    pub async fn operator(&self) -> Operator {
        Operator::connect(self.operator_address()).await
    }

    /// Process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A client of the node.
    pub async fn api(&self) -> Api {
        connect(self.address()).await
    }

    /// Whether the process has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Resident memory, in bytes.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        kib.and_then(|kib| kib.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
    }

    /// Kills the node as `kill -9` does.
    pub fn kill(&mut self) {
        // A process that has already ended needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks the node to stop.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Lets the node do nothing until [`NodeProcess::wake`].
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the node go on.
    pub fn wake(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running node takes signals");
    }

    /// Waits for the node to end.
    pub async fn wait(&mut self, bound: Duration) -> ExitStatus {
        let deadline = Instant::now() + bound;
        loop {
            if let Some(status) = self.child.try_wait().expect("the node can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "the node did not end within {bound:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
