//! The conformance suite: the example harness passes every check, and each flaw fails the check that is for it.

mod actors;
#[allow(dead_code, reason = "its main is not run here")]
#[path = "../../sdk/examples/conformance.rs"]
mod example;
mod flawed;
mod sound;
