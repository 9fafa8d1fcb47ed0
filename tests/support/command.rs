//! `agentctl` as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{Failpoint, JournalPlace, binary};

/// Runs commands in a directory.
#[derive(Clone, Debug)]
pub struct Agentctl {
    directory: PathBuf,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

impl Agentctl {
    /// In `directory`, whose journal is used unless a command names another.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.into() }
    }

    /// Runs a command to its end.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments))
    }

    /// Runs a command into a failpoint, or to its end if it does not reach it.
    #[must_use]
    pub fn run_into(&self, failpoint: Failpoint, arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        command.env("AGENTSESSIONS_FAILPOINT", failpoint.to_string());
        ended(command)
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}: {}", ended.stdout);
        ended.stdout
    }

    /// Runs a command that must succeed, and returns the most memory that it had resident, in bytes.
    #[must_use]
    pub fn peak_bytes(&self, arguments: &[&str]) -> u64 {
        let mut child = self.command(arguments).stdout(Stdio::null()).spawn().expect("agentctl starts");
        let mut peak = 0;
        loop {
            peak = high_water_mark(&child).unwrap_or(peak);
            if let Some(status) = child.try_wait().expect("agentctl can be waited for") {
                assert!(status.success(), "{arguments:?}: {status}");
                return peak;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("agentctl"));
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null());
        let variable = |name: &str| format!("AGENTSESSIONS_{}", name.replace('-', "_").to_ascii_uppercase());
        let journal = JournalPlace::of(&self.directory).settings().into_iter();
        command.envs(journal.map(|(name, value)| (variable(name), value))).env_remove("AGENTSESSIONS_FAILPOINT");
        command
    }
}

fn ended(mut command: Command) -> Ended {
    let output = command.output().expect("agentctl starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("agentctl prints text");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Gone once the process has ended.
fn high_water_mark(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))?;
    Some(kib.parse::<u64>().ok()? * 1024)
}
