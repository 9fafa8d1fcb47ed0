//! The client against a server on a real socket that speaks the real wire format.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod client;
mod connection;
mod failures;
mod secrets;
mod server;
mod streaming;
