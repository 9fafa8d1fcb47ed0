//! The Sessions and HarnessRegistry services over gRPC: a listener for each, one chain of layers, one handler per rpc. And
//! the endpoint where agents are invoked over WebSockets, on a listener of its own.
//!
//! Handlers decode, call one function of [`controller::Host`] or [`controller::Registry`] and encode. What a session is
//! and what a call does to it is decided there; this crate owns everything a caller can notice before that: request ids, deadlines, limits,
//! codes, health and the orderly end of the listener.

mod accept;
mod call;
mod layers;
mod listener;
pub mod metrics;
mod options;
mod prefaced;
mod registry;
mod server;
mod sessions;
mod stack;
mod status;
mod streams;

pub use listener::tcp_incoming;
pub use options::Options;
pub use server::{Frontend, StartError};
pub use streams::{StreamFrontend, StreamOptions, StreamSecurity};
