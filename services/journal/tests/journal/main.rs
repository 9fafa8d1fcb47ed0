//! The promises of the journal, tested through its public interface.
#![allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]

mod append;
mod delete;
mod embedded;
mod faults;
mod fork;
mod import;
mod invocations;
mod registry;
mod sessions;
mod support;
