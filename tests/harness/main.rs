//! The conformance suite for harnesses: the example harness passes every check, and each flaw fails the check that is for
//! it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod every_effect;
#[allow(dead_code, reason = "its main is not run here")]
#[path = "../../services/harness/sdk/examples/conformance.rs"]
mod example;
mod flawed;
mod sound;
mod suite;
mod tutorials;
