//! The client against a scripted host, over memory and over sockets.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

mod calls;
mod fail_over;
mod listing;
mod replay;
mod script;
mod watch;
