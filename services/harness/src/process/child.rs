//! A started program.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use controller::ports::{AcquireError, HarnessChannel, HarnessPlacement, HarnessUnavailable, RuntimeFailure};
use tempfile::TempDir;
use tokio::fs;
use tokio::process::Command;

use super::{Program, explain};
use crate::remote::{HarnessAddress, Remote, RemoteOptions};

/// How often a program that was just started is tried.
const DIAL_INTERVAL: Duration = Duration::from_millis(10);

/// A program, killed when dropped. Its standard input is open as long as the node lives, so that it can tell when it is
/// left alone.
pub(super) struct Child {
    // Dropped before the directory that it works in.
    process: tokio::process::Child,
    directory: TempDir,
}

impl Child {
    /// Starts a program on a copy of `state`, or on an empty one; also tells whether there is anything in it.
    pub(super) async fn start(program: &Program, state: Option<&Path>) -> Result<(Self, bool), AcquireError> {
        let (directory, remembers) = working_directory(state)
            .await
            .map_err(|error| RuntimeFailure(format!("its state cannot be set out: {}", explain(&error))))?;
        let mut command = Command::new(&program.command);
        command
            .args(&program.args)
            .env_clear()
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .env("HARNESS_ADDR", address(&directory))
            .env("HARNESS_STATE", state_file(&directory))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // It may say anything there, what it remembers included.
            .stderr(Stdio::null())
            // An interrupt from the terminal is for the node, which first lets turns end.
            .process_group(0)
            .kill_on_drop(true);
        let process = command.spawn().map_err(|error| not_started(&explain(&error)))?;
        Ok((Self { process, directory }, remembers))
    }

    /// Connects to the program as soon as it serves.
    pub(super) async fn dial(&mut self, options: &RemoteOptions) -> Result<Box<dyn HarnessChannel>, AcquireError> {
        let address: HarnessAddress =
            address(&self.directory).parse().map_err(|error| RuntimeFailure(format!("{error}")))?;
        let remote = Remote::new(address, options.clone());
        loop {
            match remote.acquire().await {
                Ok(channel) => return Ok(channel),
                Err(_) if self.is_running() => tokio::time::sleep(DIAL_INTERVAL).await,
                Err(_) => return Err(not_started("it ended before it served").into()),
            }
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// What the program keeps.
    pub(super) fn state(&self) -> PathBuf {
        state_file(&self.directory)
    }
}

fn not_started(reason: &str) -> HarnessUnavailable {
    HarnessUnavailable(format!("the program was not started: {reason}"))
}

async fn working_directory(state: Option<&Path>) -> io::Result<(TempDir, bool)> {
    let directory = tempfile::Builder::new().prefix("harness-").tempdir()?;
    let file = state_file(&directory);
    let size = match state {
        Some(state) => fs::copy(state, file).await?,
        None => fs::File::create(file).await.map(|_| 0)?,
    };
    Ok((directory, size > 0))
}

fn state_file(directory: &TempDir) -> PathBuf {
    directory.path().join("state")
}

fn address(directory: &TempDir) -> String {
    format!("unix:{}", directory.path().join("socket").display())
}
