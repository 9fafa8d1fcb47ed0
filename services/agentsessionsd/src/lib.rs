//! A node: its configuration, its assembly from the crates of the workspace, and its orderly end.

mod causes;
pub mod cli;
pub mod config;
mod coordination;
mod effects;
#[cfg(feature = "failpoints")]
mod failpoint;
mod fronts;
mod local_journal;
mod node;
mod ready_file;
mod signals;
mod streams;
pub mod telemetry;

pub use causes::with_causes;
pub use effects::Effects;
pub use local_journal::LocalJournal;
pub use node::{Node, STOP_BOUND, StartError};
pub use signals::Signals;
pub use streams::StreamsError;
pub use telemetry::Telemetry;
