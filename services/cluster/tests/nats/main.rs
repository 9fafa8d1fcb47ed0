//! Nodes that talk over a real NATS server.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

mod access;
mod floods;
mod news;
mod outages;
mod questions;
mod world;
