//! A FoundationDB cluster of one server, as a process of its own, on loopback.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;

use crate::BOUND;
use crate::programs::{free_port, on_path};

/// A cluster that keeps what it was told. Killed when dropped.
pub struct FdbServer {
    directory: TempDir,
    port: u16,
    server: Child,
}

impl FdbServer {
    /// Starts a new one. `None`, and a line that says so, where `fdbserver` and `fdbcli` are not on the path.
    pub async fn start() -> Option<Self> {
        let installed = ["fdbserver", "fdbcli"].iter().all(|program| on_path(program).is_some());
        if !installed {
            println!("NOT RUN: fdbserver and fdbcli are not on the path");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let port = free_port();
        std::fs::write(cluster_file(directory.path()), format!("test:test@127.0.0.1:{port}\n")).expect("a file");
        let server = launch(directory.path(), port);
        let mut cluster = Self { directory, port, server };
        cluster.administer("configure new single ssd").await;
        Some(cluster)
    }

    /// Where its coordinators are.
    #[must_use]
    pub fn cluster_file(&self) -> PathBuf {
        cluster_file(self.directory.path())
    }

    /// Has `fdbcli` kill the server, once the database has recovered from the last time, and starts it again at once, as
    /// `fdbmonitor` does.
    pub async fn kill(&mut self) {
        self.recover().await;
        self.administer("kill; kill all; status minimal").await;
        let deadline = Instant::now() + BOUND;
        while self.server.try_wait().expect("fdbserver can be waited for").is_none() {
            assert!(Instant::now() < deadline, "fdbserver does not end: {}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.server = launch(self.directory.path(), self.port);
    }

    async fn recover(&mut self) {
        let deadline = Instant::now() + BOUND;
        while !self.administer("status minimal").await.contains("is available") {
            assert!(Instant::now() < deadline, "the database does not recover: {}", self.log());
        }
    }

    /// Runs commands of `fdbcli`, the first of which the cluster must answer. Returns what it says.
    async fn administer(&mut self, commands: &str) -> String {
        let mut command = Command::new("fdbcli");
        command.arg("-C").arg(self.cluster_file()).args(["--timeout", "20", "--exec", commands]);
        let ran = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output());
        let Output { status, stdout, stderr } = ran.await.expect("fdbcli does not panic").expect("fdbcli starts");
        let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        assert!(status.success(), "{commands}: {said}{}", self.log());
        said
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for FdbServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn cluster_file(directory: &Path) -> PathBuf {
    directory.join("fdb.cluster")
}

fn launch(directory: &Path, port: u16) -> Child {
    let log = std::fs::File::options().append(true).create(true).open(directory.join("log")).expect("a file");
    Command::new("fdbserver")
        .args(["--public-address", &format!("127.0.0.1:{port}"), "--memory", "2GiB", "--cache-memory", "256MiB"])
        .arg("--cluster-file")
        .arg(cluster_file(directory))
        .arg("--datadir")
        .arg(directory.join("data"))
        .arg("--logdir")
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle"))
        .stderr(log)
        .spawn()
        .expect("fdbserver starts")
}
