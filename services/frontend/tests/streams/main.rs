//! The endpoint of stream sessions, spoken to over loopback. The runner of the invocations is the test itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod access;
mod attaching;
mod client;
mod ending;
mod inputs;
mod outputs;
mod world;
