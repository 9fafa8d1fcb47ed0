//! Actors of the black-box suites: nodes as real processes, model servers, harnesses. Every wait has a bound.

mod agent_server;
mod cable;
mod cluster;
mod command;
mod cut;
#[cfg(feature = "fdb")]
mod fdb_server;
mod harness_server;
mod journal_place;
mod model_server;
mod nats_server;
mod node;
mod operator;
mod programs;
mod raw_harness;
pub mod records;
mod reference_journal;
mod scale;
mod scribe;
mod scripted_harness;
mod session;
pub mod stream_session;
pub mod stream_socket;
mod tool_server;
mod trace_receiver;
pub mod vectors;
mod watcher;

pub use agent_server::AgentServer;
pub use cable::Cable;
pub use cluster::Cluster;
pub use command::{Agentctl, Ended};
pub use cut::cut_after;
#[cfg(feature = "fdb")]
pub use fdb_server::FdbServer;
pub use harness_server::HarnessServer;
pub use journal_place::JournalPlace;
pub use model_server::ModelServer;
pub use nats_server::NatsServer;
pub use node::{Failpoint, NodeBuilder, NodeProcess};
pub use operator::{Operator, remote_spec};
pub use raw_harness::{Acting, Describing, Talk, serve_described, serve_harness, serve_raw};
pub use reference_journal::{ReferenceJournal, ReferenceSession, chain};
pub use scale::{rounds, seeds};
pub use scribe::Scribe;
pub use scripted_harness::{Described, ScriptedHarness, Step, descriptor};
pub use session::{Api, connect, decision, kinds, record, text};
pub use tool_server::{TOOL, ToolServer};
pub use trace_receiver::{ReceivedSpan, TraceReceiver};
pub use watcher::{Scrape, Watcher};

use std::path::PathBuf;
use std::time::Duration;

/// Longest wait for anything that a test expects to happen.
pub const BOUND: Duration = Duration::from_secs(30);

/// A binary of this workspace, built in the profile of the running test.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test.ancestors().nth(2).expect("test binaries live in <profile>/deps");
    let path = profile.join(name);
    assert!(path.exists(), "{} is not built: run `cargo build --workspace --bins` in the same profile", path.display());
    path
}
