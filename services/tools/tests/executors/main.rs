//! Executors against servers on real sockets and in real processes.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod endpoint;
mod http;
mod mcp_http;
mod mcp_stdio;
mod routing;
mod secrets;
mod setup;
