//! Who a node is.

use journal::Incarnation;

/// One run of a node, as it presents itself to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What operators call it; need not be unique.
    pub name: String,
    /// Tells this run from every other, and is what the journal records as the owner of a turn.
    pub incarnation: Incarnation,
}
