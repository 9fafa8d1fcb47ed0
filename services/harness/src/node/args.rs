//! Flags and environment.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::ListenAddress;

/// Serves one of the built-in harnesses to session hosts.
#[derive(Clone, Debug, Parser)]
#[command(name = "harnessnode", version)]
pub struct Args {
    /// Where to serve the harness: host:port, :port for every interface, or unix:///path.
    ///
    /// A Unix path is guarded by a lock file beside it, path.lock, which stays behind when the process ends.
    #[arg(long, env = "HARNESS_ADDR", default_value = ":80")]
    pub addr: ListenAddress,

    /// Where to answer HTTP readiness probes with "ok": host:port or :port.
    #[arg(long, env = "HARNESS_READYZ", default_value = ":8081")]
    pub readyz: ListenAddress,

    /// Which harness.
    #[arg(long, env = "HARNESS_KIND", value_enum, default_value = "echo")]
    pub kind: Kind,

    /// The model that chat asks for.
    #[arg(long, env = "HARNESS_MODEL")]
    pub model: Option<String>,

    /// File in which counter keeps its count; empty at first. Without it the count is in memory alone.
    #[arg(long, env = "HARNESS_STATE", value_name = "PATH")]
    pub state: Option<PathBuf>,

    /// Stop when standard input is closed, as it is when the host that started this process dies.
    #[arg(long)]
    pub stop_with_stdin: bool,

    /// Largest message a host may send, in bytes; the first one of a turn carries the whole history.
    #[arg(long, env = "HARNESS_MAX_MESSAGE_BYTES", default_value_t = sdk::MAX_MESSAGE_BYTES)]
    pub max_message_bytes: usize,
}

/// The built-in harnesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Says what it was told.
    Echo,
    /// Holds a conversation; needs a model.
    Chat,
    /// Counts its turns.
    Counter,
    /// Example agents, whose methods can be invoked: see docs/agents.md.
    Agents,
}
