//! Stream sessions over real nodes, real connections and the example agents: what is refused and with which code, what
//! survives, what it costs.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

mod attach;
mod beside;
mod first;
mod half_open;
mod handshake;
mod idle;
mod inputs;
mod malformed;
mod rotation;
mod slow;
mod tenants;
mod torture;
mod unread;
mod world;
