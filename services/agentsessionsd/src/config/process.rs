//! Harnesses that this node starts as processes.

use std::path::PathBuf;

use harness::NamedProcess;
use serde::{Deserialize, Serialize};
use wire::Resumability;

/// A harness that is started for each turn, with its state in a file. In the file only, like executors of tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessConfig {
    /// Program.
    pub command: String,

    /// Arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,

    /// Names of the environment variables that the program is given, beside a few that name places and languages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,

    /// Directory of the states of its sessions and of their snapshots, the same for all nodes on the journal.
    pub states: PathBuf,

    /// What the harness says of itself.
    pub resumability: ProcessResumability,
}

/// How the sessions of a harness go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessResumability {
    /// From the log.
    StatelessReplay,
    /// From a snapshot of its state.
    RequiresMemorySnapshot,
}

impl ProcessConfig {
    /// The harness called `name`.
    pub(crate) fn harness(&self, name: &str) -> NamedProcess {
        NamedProcess {
            name: name.to_owned(),
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            states: self.states.clone(),
            resumability: self.resumability.into(),
        }
    }
}

impl From<ProcessResumability> for Resumability {
    fn from(resumability: ProcessResumability) -> Self {
        match resumability {
            ProcessResumability::StatelessReplay => Self::StatelessReplay,
            ProcessResumability::RequiresMemorySnapshot => Self::RequiresMemorySnapshot,
        }
    }
}
