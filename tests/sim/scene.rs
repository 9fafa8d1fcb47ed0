//! What a simulation has to get to: where it never does, that its promises hold says little.

use std::collections::BTreeMap;

/// Something that goes wrong seldom, or takes long to come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// A commit of a node that was dead or stood still by then took effect.
    LateCommit,
    /// A node died at a commit.
    DiedAtCommit,
    /// A client was told that nobody knows what became of its write.
    UnknownOutcome,
    /// A turn was lost to another writer after it had begun.
    LostTurn,
    /// A turn was canceled while its client heard of it.
    CanceledTurn,
    /// An effect happened twice, as nobody could know of the first time.
    RepeatedEffect,
    /// A gated call was approved and ran.
    ApprovedCall,
    /// A gated call was denied.
    DeniedCall,
    /// A fork cut a turn where it could not go on.
    CutTurn,
    /// A drained node ended by itself.
    Drained,
}

impl Scene {
    /// Every scene.
    pub const ALL: [Self; 10] = [
        Self::LateCommit,
        Self::DiedAtCommit,
        Self::UnknownOutcome,
        Self::LostTurn,
        Self::CanceledTurn,
        Self::RepeatedEffect,
        Self::ApprovedCall,
        Self::DeniedCall,
        Self::CutTurn,
        Self::Drained,
    ];
}

/// How often each scene was played.
pub type Scenes = BTreeMap<Scene, usize>;
