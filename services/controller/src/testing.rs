//! Scripted journals, harnesses and outside worlds for the tests of the engine.

pub(crate) mod agents;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod host;
pub(crate) mod runtime;
pub(crate) mod script;
pub(crate) mod session;
#[path = "../../../tests/support/vectors.rs"]
mod spec;
pub(crate) mod switchboard;
pub(crate) mod vectors;
