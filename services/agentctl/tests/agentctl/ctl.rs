//! Runs `agentctl` on a journal of its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A directory with a journal, and `agentctl` in it.
pub struct Ctl {
    directory: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ctl {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A file beside the journal.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The binary, to be given more arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
        command.args(args).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Ended {
        ended(&self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn ok(&self, args: &[&str]) -> String {
        let ended = self.run(args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
        ended.stdout
    }

    /// Runs a turn on a new session and returns its uid.
    pub fn new_session(&self, input: &str) -> String {
        let printed = self.ok(&["exec", "--input", input]);
        printed.lines().next().unwrap().strip_prefix("session ").unwrap().to_owned()
    }
}

pub fn ended(output: &std::process::Output) -> Ended {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ended { code: output.status.code().unwrap(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// The lines of an echo turn whose first record has this seq.
pub fn echo_turn(first: u64, input: &str) -> String {
    let lines = [
        "EVENT_EXECUTION_START".to_owned(),
        format!("EVENT_INPUT  user: {input}"),
        "EVENT_MODEL_CALL".to_owned(),
        format!("EVENT_OUTPUT  assistant: echo:{input}"),
        "EVENT_END".to_owned(),
    ];
    (first..).zip(lines).map(|(seq, line)| format!("seq={seq:<3} {line}\n")).collect()
}
