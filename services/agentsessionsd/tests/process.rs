//! The node as its users meet it: a process with flags, signals and a gRPC listener.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "process/bad_input.rs"]
mod bad_input;
#[path = "process/calls.rs"]
mod calls;
#[path = "process/command_line.rs"]
mod command_line;
#[path = "process/drain.rs"]
mod drain;
#[path = "process/format.rs"]
mod format;
#[path = "process/fuzz.rs"]
mod fuzz;
#[path = "process/gate.rs"]
mod gate;
#[path = "process/limits.rs"]
mod limits;
#[path = "process/metrics.rs"]
mod metrics;
#[path = "process/operations.rs"]
mod operations;
#[path = "process/raw.rs"]
mod raw;
#[path = "process/traces.rs"]
mod traces;
