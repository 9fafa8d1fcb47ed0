//! The harness side of the protocol (execution.md §6.2), driven by a scripted host.

mod actors;
mod agent;
mod any_host;
mod ending;
mod gate;
mod invoking;
mod pressure;
mod streams;
mod violation;
