//! The host under load.

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

/// A host that can be called.
pub struct Target {
    address: String,
    process: Option<Process>,
    started: Option<Started>,
}

/// A node that was started here. It is killed, and its journal deleted, when this is dropped.
struct Started {
    _node: Child,
    directory: TempDir,
}

impl Target {
    /// A host that runs already.
    pub fn at(address: String, pid: Option<u32>) -> Self {
        Self { address, process: pid.map(Process::with_id), started: None }
    }

    /// Starts a node: this very program, so that both are of the same build. Its journal is in a new directory in `parent`.
    pub async fn start(parent: &Path, args: &[String]) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in(parent)?;
        let ready = directory.path().join("ready");
        let mut node = Command::new(std::env::current_exe()?)
            .args(["node", "--addr", "127.0.0.1:0", "--log-filter", "warn"])
            .arg("--journal")
            .arg(directory.path().join("journal.db"))
            .arg("--ready-file")
            .arg(&ready)
            .args(args)
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting a node")?;
        let address = tokio::time::timeout(START_BOUND, address_in(&ready, &mut node))
            .await
            .context("the node does not start")??;
        let process = node.id().map(Process::with_id);
        Ok(Self { address, process, started: Some(Started { _node: node, directory }) })
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Waits for `ready`, to which the node writes its addresses.
async fn address_in(ready: &Path, node: &mut Child) -> anyhow::Result<String> {
    loop {
        if let Some(status) = node.try_wait()? {
            bail!("the node ended with {status}");
        }
        match std::fs::read_to_string(ready) {
            // The file appears complete; the address of the Sessions listener is its first line.
            Ok(addresses) => return Ok(addresses.lines().next().unwrap_or_default().to_owned()),
            Err(_) => tokio::time::sleep(START_POLL).await,
        }
    }
}

/// What the load generator and the host have used so far, or between two such points.
#[derive(Clone, Copy)]
pub struct Usage {
    pub own_cpu: Duration,
    /// `None` where the host is not a process of this machine that was named.
    pub host_cpu: Option<Duration>,
    /// Peak, in bytes. Not a difference.
    pub host_memory: Option<u64>,
    /// Of the journal, in bytes.
    pub disk: Option<u64>,
}

impl Usage {
    pub fn of(target: &Target) -> anyhow::Result<Self> {
        Ok(Self {
            own_cpu: Process::own().cpu()?,
            host_cpu: target.process.map(Process::cpu).transpose()?,
            host_memory: target.process.map(Process::peak_memory).transpose()?,
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
