//! The `process` runtime: a harness that is started for each turn, on this machine, with its state in a file.

mod child;
mod connection;
mod states;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use controller::ports::{AcquireError, Compute, HarnessChannel, Runtime, RuntimeFailure, SessionPoint};
use journal::SessionUid;
use wire::{ComputeState, RuntimeCapabilities, SnapshotRef};

use crate::remote::RemoteOptions;
use child::Child;
use connection::Channel;
use states::{StateError, States};

/// What is started for a turn.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path, or its name if it is in a directory of `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside `HARNESS_ADDR` and `HARNESS_STATE`.
    pub environment: Vec<(String, OsString)>,
}

/// Starts a program for each turn. It serves `agentsessions.v1.Harness` on the Unix socket in `HARNESS_ADDR` and keeps
/// what it remembers of the session in the file in `HARNESS_STATE`, written before it ends its turn.
///
/// The file is a copy of the session's state; when the turn ends well, it becomes the state as of that turn. A turn that
/// fails, is interrupted or dies with its node leaves nothing behind. A snapshot is a copy of the state; its external handle is
/// the copy's `file` URI.
#[derive(Clone, Debug)]
pub struct Process {
    program: Program,
    states: States,
    options: RemoteOptions,
}

impl Process {
    /// Starts `program` for sessions whose states are in the directory `states`. It must be one and the same directory
    /// for every node that serves the harness; it is made when it is first needed.
    #[must_use]
    pub fn new(program: Program, states: PathBuf, options: RemoteOptions) -> Self {
        Self { program, states: States::new(states), options }
    }

    /// Starts the program on a copy of `state`, or on an empty one. What it leaves there at the end of a turn becomes
    /// the state of the session as of that turn.
    async fn start(&self, state: Option<&Path>) -> Result<Compute, AcquireError> {
        let (mut child, remembers) = Child::start(&self.program, state).await?;
        let channel = child.dial(&self.options).await?;
        Ok(Compute { channel: Box::new(Channel::new(channel, child, self.states.clone())), remembers })
    }
}

#[async_trait]
impl Runtime for Process {
    fn capabilities(&self) -> RuntimeCapabilities {
        RuntimeCapabilities { memory_snapshot: true, ..RuntimeCapabilities::default() }
    }

    async fn probe(&self) -> Result<Box<dyn HarnessChannel>, AcquireError> {
        Ok(self.start(None).await?.channel)
    }

    async fn create(&self, of: &SessionPoint) -> Result<Compute, AcquireError> {
        let live = self.states.live(of).await.map_err(RuntimeFailure::from)?;
        self.states.remove_former(of).await.map_err(RuntimeFailure::from)?;
        self.start(live.as_deref()).await
    }

    async fn restore(&self, of: &SessionPoint, snapshot: &SnapshotRef) -> Result<Compute, AcquireError> {
        // Snapshots of other runtimes have no handle: a session may have been suspended on one.
        if snapshot.external_uri.is_empty() {
            return self.create(of).await;
        }
        let held = self.states.held(snapshot).map_err(RuntimeFailure::from)?;
        self.start(Some(&held)).await
    }

    async fn snapshot(&self, of: &SessionPoint) -> Result<SnapshotRef, RuntimeFailure> {
        let external_uri = self.states.snapshot(of).await?;
        Ok(SnapshotRef { local: of.session.as_str().to_owned(), external_uri, memory: true, sealed: false })
    }

    async fn fork(&self, snapshot: &SnapshotRef, child: &SessionPoint) -> Result<(), RuntimeFailure> {
        Ok(self.states.keep(child, &self.states.held(snapshot)?).await?)
    }

    async fn stop(&self, session: &SessionUid) -> Result<(), RuntimeFailure> {
        Ok(self.states.give_up(session).await?)
    }

    async fn status(&self, of: &SessionPoint) -> Result<ComputeState, RuntimeFailure> {
        Ok(self.states.status(of).await?)
    }
}

impl From<StateError> for RuntimeFailure {
    fn from(error: StateError) -> Self {
        Self(error.to_string())
    }
}

/// What went wrong with a file, without its path.
fn explain(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.kind().to_string(), |code| io::Error::from_raw_os_error(code).to_string())
}
