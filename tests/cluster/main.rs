//! Several nodes on one journal, as processes, and clients that go on when one of them is lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod busy;
mod command_line;
mod crowd;
mod database;
mod decisions;
mod hints;
mod kills;
mod outages;
mod registered;
mod rolling;
mod sleeping;
mod start;
mod takeover;
mod user;
mod worker;
mod world;
