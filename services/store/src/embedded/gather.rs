//! Whether a group waits for commits that are about to come.
//!
//! Those that wait while a group is written go with the next one, and those that are answered by it with the one after: two
//! groups alternate, where one would do. To wait for those that were just answered saves a sync if they are back soon, which
//! depends on how many they are, on the disk and on the processors. So it is tried, and let be for a while where it was in
//! vain.

use std::time::Duration;

/// How much longer a commit seems to take after each that took longer, as a part of its time.
const FORGETTING: u32 = 16;
/// Longest wait of a group, however long a commit seems to take.
const LONGEST: Duration = Duration::from_millis(10);
/// Groups that do not wait after one that waited in vain.
const REST: u32 = 32;

/// Learns from what came so far how long it pays to wait.
#[derive(Debug, Default)]
pub(super) struct Gather {
    /// What a commit takes that has the disk to itself: the shortest of the last few.
    alone: Duration,
    /// How many commits the next group may have: those that wait, and those that were just answered.
    expected: usize,
    /// Groups until one waits again.
    rest: u32,
}

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// As many commits.
    pub(super) commits: usize,
    /// No longer than this.
    pub(super) bound: Duration,
}

impl Gather {
    /// Notes that a group was answered while others waited already.
    pub(super) fn answered(&mut self, group: usize, waiting: usize) {
        self.expected = group + waiting;
    }

    /// Notes how long a commit took that was alone.
    pub(super) fn took_alone(&mut self, time: Duration) {
        let expected = self.alone + self.alone / FORGETTING;
        self.alone = if self.alone.is_zero() { time } else { time.min(expected) };
    }

    /// Whether there was nobody beside the last commit.
    pub(super) fn is_alone(&self) -> bool {
        self.expected <= 1
    }

    /// What the next group waits for, if it does.
    pub(super) fn next(&mut self) -> Option<Wait> {
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        // In vain it costs half of what it would have saved.
        (!self.is_alone()).then_some(Wait { commits: self.expected, bound: LONGEST.min(self.alone / 2) })
    }

    /// Notes how many there were after a wait.
    pub(super) fn gathered(&mut self, commits: usize) {
        if commits < self.expected {
            self.rest = REST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn on_a_disk_of(time: Duration) -> Gather {
        let mut gather = Gather::default();
        gather.took_alone(time);
        gather
    }

    #[test]
    fn a_group_waits_for_those_that_were_just_answered() {
        let mut gather = on_a_disk_of(MILLISECOND);
        gather.answered(3, 2);
        assert_eq!(gather.next(), Some(Wait { commits: 5, bound: MILLISECOND / 2 }));
        gather.gathered(5);
        gather.answered(5, 0);
        assert_eq!(gather.next(), Some(Wait { commits: 5, bound: MILLISECOND / 2 }));
    }

    #[test]
    fn a_lone_commit_waits_for_nobody() {
        let mut gather = on_a_disk_of(MILLISECOND);
        gather.answered(1, 0);
        assert!(gather.is_alone());
        assert_eq!(gather.next(), None);
    }

    #[test]
    fn after_a_wait_in_vain_the_next_groups_do_not_wait() {
        let mut gather = on_a_disk_of(MILLISECOND);
        gather.answered(3, 2);
        assert!(gather.next().is_some());
        gather.gathered(4);
        let waited = (0..=REST).map(|_| gather.next().is_some()).collect::<Vec<_>>();
        assert_eq!(waited.iter().position(|waited| *waited), Some(REST as usize));
    }

    #[test]
    fn one_slow_commit_does_not_make_the_disk_slow() {
        let mut gather = on_a_disk_of(MILLISECOND);
        gather.took_alone(100 * MILLISECOND);
        gather.answered(2, 0);
        assert!(gather.next().is_some_and(|wait| wait.bound < MILLISECOND));
    }

    #[test]
    fn a_disk_that_becomes_slow_is_noticed() {
        let mut gather = on_a_disk_of(MILLISECOND);
        (0..100).for_each(|_| gather.took_alone(20 * MILLISECOND));
        gather.answered(2, 0);
        assert!(gather.next().is_some_and(|wait| wait.bound == LONGEST));
    }
}
