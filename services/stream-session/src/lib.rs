//! The stream-session protocol `golem.agent-invocation.v1`: its codec, its values, its tokens and its state machines.
//!
//! Nothing here does I/O: bytes and events go in, bytes and actions come out. Every decoder is strict, takes bounded memory
//! for bounded input, and answers bad input with the protocol's own error code.

pub mod binary;
pub mod checkpoint;
pub mod client;
mod code;
pub mod field;
pub mod graph;
pub mod json;
pub mod limits;
pub mod message;
pub mod server;
#[cfg(test)]
mod spec;
pub mod token;
pub mod value;

pub use code::{ErrorCode, Refusal};
