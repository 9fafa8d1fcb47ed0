//! Sessions on one machine: what users are promised, over real processes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals_torture;
mod cancel;
mod crash_cuts;
mod delete;
mod durability;
mod execution;
mod forks;
mod memory;
mod races;
mod replay;
mod section_6_1_host_side;
mod tools;
mod turn_limits;
mod watch;
