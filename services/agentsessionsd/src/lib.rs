//! A node: its configuration, its assembly from the crates of the workspace, and its orderly end.

pub mod cli;
pub mod config;
pub mod telemetry;
