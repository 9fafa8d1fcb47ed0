//! Everything ambient a node uses comes in through here: the wall clock, randomness, ids, and the right to start a task.
//!
//! Monotonic time is tokio's (`tokio::time`), which simulation can pause. Code outside this crate never reads the wall
//! clock, never draws its own randomness and never calls `tokio::spawn`; clippy.toml bans all three, so that a seed
//! replays a run and a drain finds every task.

mod ids;
mod measures;
mod process;
mod programs;
mod source;
mod tasks;
mod traces;

pub use ids::{execution_id, harness_uid, hex_id, request_id, session_uid};
pub use measures::{Counters, Durations, Labels, begin_at_zero, durations, observe, short_durations};
pub use process::{has_ended, process_mark};
pub use programs::{Variables, program_environment};
pub use source::{Env, VirtualClock};
pub use tasks::{TaskKind, Tasks};
pub use traces::{TRACEPARENT, continue_trace, traceparent};
