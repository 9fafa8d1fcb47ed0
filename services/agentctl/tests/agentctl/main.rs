//! The real binary, with a host in its process and on a host elsewhere.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

mod chains;
mod ctl;
mod harnesses;
mod output;
mod sessions;
mod streaming;
mod usage;
