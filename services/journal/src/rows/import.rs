//! The latest import into the journal.

use prost::Message;

/// Which import may write. Stays when it has ended.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ImportRow {
    /// Drawn by the import.
    #[prost(fixed64, tag = "1")]
    pub(crate) token: u64,
}
