//! The registration of a harness, as far as the creation of sessions looks at it.

use prost::{Enumeration, Message};

/// A registration. Its other fields take the tags from 2 up.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HarnessRow {
    #[prost(enumeration = "HarnessState", tag = "1")]
    pub(crate) state: i32,
}

/// Whether a registration takes new sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum HarnessState {
    Unspecified = 0,
    Active = 1,
    Retired = 2,
}
