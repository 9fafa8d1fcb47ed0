//! The wire contract: generated types of package `agentsessions.v1`, their JSON form, their canonical form and the hashes
//! computed from it. No I/O.
//!
//! The JSON form is proto3-JSON with proto names, read and written through serde; the canonical form is the same text
//! under RFC 8785. Both come from one list of members, generated from the .proto files at build time.

pub mod canonical;
mod chain;
mod generated;
mod history;
mod input_hash;
mod json;
mod message;
mod normalise;
mod scan;
mod spec_digest;
mod stream;
pub mod strict;
pub mod verify;

pub use canonical::NotCanonical;
pub use chain::{ContentHash, Hasher, InvalidContentHash, content_hash};
pub use generated::agentsessions::v1::*;
pub use generated::google::protobuf;
pub use history::{Held, History};
pub use input_hash::{InvalidModelCall, input_hash};
pub use json::InvalidTimestamp;
pub use normalise::normalise;
pub use spec_digest::spec_digest;

/// The encoded descriptors of all services and of everything they import, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
