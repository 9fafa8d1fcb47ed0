//! The registration of a harness, and the names that none may take.

use prost::{Enumeration, Message};

use super::unknown_fields;
use crate::error::Corrupt;

/// A registration. Its name is in the key.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HarnessRow {
    #[prost(enumeration = "HarnessState", tag = "1")]
    pub(crate) state: i32,
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
    /// proto3-JSON with proto names.
    #[prost(string, tag = "3")]
    pub(crate) spec: String,
    #[prost(string, tag = "4")]
    pub(crate) spec_digest: String,
    /// Unix nanoseconds, as are the other times.
    #[prost(int64, tag = "5")]
    pub(crate) create_time: i64,
    #[prost(int64, tag = "6")]
    pub(crate) update_time: i64,
    #[prost(int64, tag = "7")]
    pub(crate) retire_time: i64,
    #[prost(string, tag = "8")]
    pub(crate) retire_reason: String,
    /// Who changed the row last: by it a change whose commit went unanswered recognises itself.
    #[prost(fixed64, tag = "9")]
    pub(crate) changer: u64,
}

impl HarnessRow {
    const TAGS: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

    /// The fields of a stored row that only a later version knows, encoded. Whoever changes the row writes them again.
    pub(crate) fn unknown(stored: &[u8]) -> Result<Vec<u8>, Corrupt> {
        unknown_fields("harness registration", stored, &Self::TAGS)
    }
}

/// Whether a registration takes new sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum HarnessState {
    Unspecified = 0,
    Active = 1,
    Retired = 2,
}

/// A name of some host's configuration. Never removed.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReservedRow {
    /// Unix nanoseconds.
    #[prost(int64, tag = "1")]
    pub(crate) reserve_time: i64,
}
