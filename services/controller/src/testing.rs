//! Scripted journals, harnesses and outside worlds for the tests of the engine.

pub(crate) mod events;
pub(crate) mod script;
pub(crate) mod session;
pub(crate) mod vectors;
