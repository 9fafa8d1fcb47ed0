//! The host under load.

use std::iter::Sum;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::process::{Process, directory_bytes};

/// Longest wait for a started node to serve.
const START_BOUND: Duration = Duration::from_secs(20);
/// How often it is looked at meanwhile.
const START_POLL: Duration = Duration::from_millis(5);

/// A host that can be called: one node, or several on one journal.
pub struct Target {
    addresses: Vec<String>,
    /// Where the first of them takes stream sessions, if it does.
    streams: Option<String>,
    /// Those that are known.
    processes: Vec<Process>,
    started: Option<Started>,
}

/// Nodes that were started here. They are killed, and their journal deleted, when this is dropped.
struct Started {
    _nodes: Vec<Child>,
    directory: TempDir,
}

impl Target {
    /// A host that runs already.
    pub fn at(address: String, pid: Option<u32>) -> Self {
        let processes = pid.map(Process::with_id).into_iter().collect();
        Self { addresses: vec![address], streams: None, processes, started: None }
    }

    /// Starts a node: this very program, so that both are of the same build. Its journal is in a new directory in `parent`.
    pub async fn start(parent: &Path, args: &[String]) -> anyhow::Result<Self> {
        Self::start_nodes(1, parent, args).await
    }

    /// Starts so many nodes on one journal.
    pub async fn start_nodes(count: u32, parent: &Path, args: &[String]) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in(parent)?;
        let (mut nodes, mut addresses, mut streams) = (Vec::new(), Vec::new(), None);
        for number in 0..count {
            let (node, ready) = start_node(directory.path(), number, args).await?;
            nodes.push(node);
            // The address of the Sessions listener is the first line, the others have names.
            addresses.push(ready.lines().next().unwrap_or_default().to_owned());
            let named = ready.lines().find_map(|line| line.strip_prefix("streams ").map(str::to_owned));
            streams = streams.or(named);
        }
        let processes = nodes.iter().filter_map(Child::id).map(Process::with_id).collect();
        Ok(Self { addresses, streams, processes, started: Some(Started { _nodes: nodes, directory }) })
    }

    /// The sum over all nodes, if their processes are known.
    fn total<T: Sum>(&self, of: impl Fn(Process) -> anyhow::Result<T>) -> anyhow::Result<Option<T>> {
        let sum = self.processes.iter().copied().map(of).sum::<anyhow::Result<T>>()?;
        Ok((!self.processes.is_empty()).then_some(sum))
    }

    /// Where its nodes are called.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Where stream sessions are taken.
    pub fn streams_address(&self) -> anyhow::Result<&str> {
        self.streams.as_deref().context("the node takes no stream sessions")
    }
}

async fn start_node(directory: &Path, number: u32, args: &[String]) -> anyhow::Result<(Child, String)> {
    let ready = directory.join(format!("ready-{number}"));
    let mut node = Command::new(std::env::current_exe()?)
        .args(["node", "--addr", "127.0.0.1:0", "--log-filter", "warn"])
        .arg("--journal")
        .arg(directory.join("journal.db"))
        .arg("--ready-file")
        .arg(&ready)
        .args(args)
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("starting a node")?;
    let addresses = addresses_in(&ready, &mut node);
    let addresses = tokio::time::timeout(START_BOUND, addresses).await.context("the node does not start")??;
    Ok((node, addresses))
}

/// Waits for `ready`, to which the node writes its addresses.
async fn addresses_in(ready: &Path, node: &mut Child) -> anyhow::Result<String> {
    loop {
        if let Some(status) = node.try_wait()? {
            bail!("the node ended with {status}");
        }
        match std::fs::read_to_string(ready) {
            // The file appears complete.
            Ok(addresses) => return Ok(addresses),
            Err(_) => tokio::time::sleep(START_POLL).await,
        }
    }
}

/// What the load generator and the host have used so far, or between two such points.
#[derive(Clone, Copy)]
pub struct Usage {
    pub own_cpu: Duration,
    /// Of all nodes; `None` where they are not processes of this machine that were named.
    pub host_cpu: Option<Duration>,
    /// Sum of the nodes' peaks, in bytes. Not a difference.
    pub host_memory: Option<u64>,
    /// Of the journal, in bytes.
    pub disk: Option<u64>,
}

impl Usage {
    pub fn of(target: &Target) -> anyhow::Result<Self> {
        Ok(Self {
            own_cpu: Process::own().cpu()?,
            host_cpu: target.total(Process::cpu)?,
            host_memory: target.total(Process::peak_memory)?,
            disk: target.started.as_ref().map(|started| directory_bytes(started.directory.path())).transpose()?,
        })
    }

    pub fn since(&self, before: &Self) -> Self {
        let difference = |after: Option<Duration>, before: Option<Duration>| Some(after?.saturating_sub(before?));
        Self {
            own_cpu: self.own_cpu.saturating_sub(before.own_cpu),
            host_cpu: difference(self.host_cpu, before.host_cpu),
            host_memory: self.host_memory,
            disk: self.disk.zip(before.disk).map(|(after, before)| after.saturating_sub(before)),
        }
    }
}
