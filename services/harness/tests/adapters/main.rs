//! The adapters between the turn engine and harnesses, in process and over sockets.

mod actors;
mod agents;
mod built_in;
mod conformance;
mod describing;
mod failing;
mod flow;
mod framing;
mod invoking;
mod network;
mod node;
mod process;
mod serving;
mod sharing;
