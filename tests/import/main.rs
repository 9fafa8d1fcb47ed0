//! Coming from the reference host (journal.md §12): files as it writes them, `agentctl import`, and nodes that go on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backups;
mod carrying;
mod refusals;
mod sample;
mod sizes;
mod vectors;
