//! Several nodes on one journal, as processes, and clients that go on when one of them is lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command_line;
mod decisions;
mod hints;
mod kills;
mod outages;
mod rolling;
mod start;
mod user;
mod worker;
mod world;
