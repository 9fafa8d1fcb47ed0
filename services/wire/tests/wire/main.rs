//! What the crate promises, seen from outside.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod canonical;
mod chain;
mod contract;
mod depth;
mod hostile;
mod input_hash;
mod json;
mod legacy;
mod normalise;
mod oracle;
mod properties;
#[path = "../../../../tests/support/vectors.rs"]
mod spec;
mod strategy;
mod strict;
mod timestamp;
mod vectors;
