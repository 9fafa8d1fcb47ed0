//! Which faults happen, and how often.

use std::time::Duration;

/// Which faults to inject. Probabilities are from 0 to 1; those of one call exclude each other, so they add up.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan {
    /// Decides everything: one seed and one order of calls give one run.
    pub seed: u64,
    /// A commit conflicts, though nothing has changed.
    pub conflict: f64,
    /// A commit happens, and its outcome is reported as unknown.
    pub unknown_committed: f64,
    /// A commit does not happen, and its outcome is reported as unknown.
    pub unknown_lost: f64,
    /// A commit is refused as too old.
    pub too_old_commit: f64,
    /// The store crashes before a commit happens.
    pub crash_before_commit: f64,
    /// The store crashes after a commit has happened, before it is answered.
    pub crash_after_commit: f64,
    /// The store crashes at this commit, whatever the probabilities.
    pub crash: Option<Crash>,
    /// A read is refused as too old.
    pub too_old_read: f64,
    /// A read or a commit takes longer, by up to `longest_delay`.
    pub delay: f64,
    /// See `delay`.
    pub longest_delay: Duration,
}

/// A crash at one certain commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Which commit: 0 is the first one with writes.
    pub commit: u64,
    /// Whether it takes effect.
    pub point: CrashPoint,
}

/// On which side of a commit a crash happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// The commit does not happen.
    Before,
    /// The commit happens, and is not answered.
    After,
}

impl FaultPlan {
    /// No faults.
    #[must_use]
    pub fn none(seed: u64) -> Self {
        Self {
            seed,
            conflict: 0.0,
            unknown_committed: 0.0,
            unknown_lost: 0.0,
            too_old_commit: 0.0,
            crash_before_commit: 0.0,
            crash_after_commit: 0.0,
            crash: None,
            too_old_read: 0.0,
            delay: 0.0,
            longest_delay: Duration::from_millis(20),
        }
    }

    /// Every fault but a crash: this share of all commits fails in one of the ways, and a tenth of it of the reads.
    #[must_use]
    pub fn mixed(seed: u64, share: f64) -> Self {
        let each = share / 4.0;
        Self {
            conflict: each,
            unknown_committed: each,
            unknown_lost: each,
            too_old_commit: each,
            too_old_read: share / 10.0,
            delay: share / 10.0,
            ..Self::none(seed)
        }
    }

    /// One crash and nothing else.
    #[must_use]
    pub fn crash_at(seed: u64, commit: u64, point: CrashPoint) -> Self {
        Self { crash: Some(Crash { commit, point }), ..Self::none(seed) }
    }
}
