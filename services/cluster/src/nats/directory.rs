//! Which nodes are there. Pure: it is told what was heard and what time it is.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use journal::Incarnation;
use tokio::time::Instant;

use crate::Node;

/// Most nodes that are kept, and most of those that are gone. Whoever does not fit is asked as if it were unknown.
const MAX_NODES: usize = 1024;

/// A node as it tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Which run of it.
    pub node: Node,
    /// Where it serves sessions; empty if it has not said so.
    pub address: String,
    /// Its version.
    pub version: String,
}

/// What a node says of itself once every period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    Alive {
        info: NodeInfo,
        /// How often this run could not send what it had to tell. A higher number than before means that something was
        /// missed.
        lost: u64,
    },
    /// It stops now.
    Farewell(Incarnation),
}

/// What a heartbeat changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Came,
    Left(NodeInfo),
    /// It could not send something that it had to tell.
    MissedSomething,
}

/// The nodes that were heard since the connection began.
pub(super) struct Directory {
    /// Silence after which a node counts as gone.
    bound: Duration,
    nodes: BTreeMap<Incarnation, Entry>,
    /// Oldest first.
    gone: VecDeque<Incarnation>,
    /// When it was last looked whether nodes are silent.
    looked: Instant,
}

struct Entry {
    info: NodeInfo,
    lost: u64,
    heard: Instant,
}

impl Directory {
    pub(super) fn new(bound: Duration, now: Instant) -> Self {
        Self { bound, nodes: BTreeMap::new(), gone: VecDeque::new(), looked: now }
    }

    /// Takes note of a heartbeat.
    pub(super) fn hear(&mut self, beat: Beat, now: Instant) -> Change {
        let (info, lost) = match beat {
            Beat::Alive { info, lost } => (info, lost),
            Beat::Farewell(incarnation) => {
                let left = self.nodes.remove(&incarnation);
                self.note_gone(incarnation);
                return left.map_or(Change::Nothing, |entry| Change::Left(entry.info));
            }
        };
        let incarnation = info.node.incarnation;
        let entry = Entry { info, lost, heard: now };
        if let Some(known) = self.nodes.get_mut(&incarnation) {
            let missed = lost > known.lost;
            *known = entry;
            return if missed { Change::MissedSomething } else { Change::Nothing };
        }
        if self.nodes.len() >= MAX_NODES {
            return Change::Nothing;
        }
        // If it was gone, it was only silent.
        self.gone.retain(|gone| *gone != incarnation);
        self.nodes.insert(incarnation, entry);
        Change::Came
    }

    /// Looks who has been silent for too long, and returns them.
    pub(super) fn look(&mut self, now: Instant) -> Vec<NodeInfo> {
        let asleep = now.duration_since(self.looked) > self.bound / 2;
        self.looked = now;
        if asleep {
            // It was this node that did not listen; what the others said meanwhile is still to be heard.
            self.nodes.values_mut().for_each(|entry| entry.heard = now);
            return Vec::new();
        }
        let silent = |entry: &Entry| now.duration_since(entry.heard) >= self.bound;
        let left: Vec<_> = self.nodes.extract_if(.., |_, entry| silent(entry)).collect();
        left.iter().for_each(|(incarnation, _)| self.note_gone(*incarnation));
        left.into_iter().map(|(_, entry)| entry.info).collect()
    }

    /// Forgets everybody: the connection is gone, and whatever is said now is not heard.
    pub(super) fn forget(&mut self, now: Instant) {
        *self = Self::new(self.bound, now);
    }

    /// Whether this run of a node was there and is gone. One that was never heard may only be unknown here.
    pub(super) fn is_gone(&self, incarnation: Incarnation) -> bool {
        self.gone.contains(&incarnation)
    }

    /// The nodes that are there.
    pub(super) fn live(&self) -> impl Iterator<Item = &NodeInfo> {
        self.nodes.values().map(|entry| &entry.info)
    }

    fn note_gone(&mut self, incarnation: Incarnation) {
        if self.gone.contains(&incarnation) {
            return;
        }
        if self.gone.len() == MAX_NODES {
            self.gone.pop_front();
        }
        self.gone.push_back(incarnation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(500);
    const BOUND: Duration = Duration::from_millis(1500);

    fn incarnation(number: u64) -> Incarnation {
        Incarnation::from_number(number).unwrap()
    }

    fn beat(number: u64, lost: u64) -> Beat {
        let node = Node { name: format!("node-{number}"), incarnation: incarnation(number) };
        Beat::Alive { info: NodeInfo { node, address: String::new(), version: "1".into() }, lost }
    }

    /// A directory with node 1 in it, and now.
    fn directory() -> (Directory, Instant) {
        let now = Instant::now();
        let mut directory = Directory::new(BOUND, now);
        assert_eq!(directory.hear(beat(1, 0), now), Change::Came);
        (directory, now)
    }

    fn names(nodes: &[NodeInfo]) -> Vec<&str> {
        nodes.iter().map(|info| info.node.name.as_str()).collect()
    }

    #[test]
    fn a_silent_node_is_gone_after_the_bound_and_comes_back_when_it_is_heard() {
        let (mut directory, mut now) = directory();
        for _ in 0..2 {
            now += PERIOD;
            assert!(directory.look(now).is_empty());
            assert!(!directory.is_gone(incarnation(1)));
        }
        now += PERIOD;
        assert_eq!(names(&directory.look(now)), ["node-1"]);
        assert!(directory.is_gone(incarnation(1)) && directory.live().next().is_none());
        assert_eq!(directory.hear(beat(1, 0), now), Change::Came);
        assert!(!directory.is_gone(incarnation(1)));
    }

    #[test]
    fn a_farewell_is_believed_at_once() {
        let (mut directory, now) = directory();
        assert!(matches!(directory.hear(Beat::Farewell(incarnation(1)), now), Change::Left(_)));
        assert!(directory.is_gone(incarnation(1)));
        assert_eq!(directory.hear(Beat::Farewell(incarnation(1)), now), Change::Nothing);
    }

    #[test]
    fn who_was_never_heard_is_not_gone() {
        let (directory, _) = directory();
        assert!(!directory.is_gone(incarnation(2)));
    }

    #[test]
    fn a_node_that_slept_does_not_take_the_others_for_gone() {
        let (mut directory, mut now) = directory();
        now += BOUND * 10;
        assert!(directory.look(now).is_empty());
        for _ in 0..2 {
            now += PERIOD;
            assert!(directory.look(now).is_empty());
        }
        now += PERIOD;
        assert_eq!(names(&directory.look(now)), ["node-1"]);
    }

    #[test]
    fn a_node_that_could_not_send_something_says_so() {
        let (mut directory, now) = directory();
        assert_eq!(directory.hear(beat(1, 0), now), Change::Nothing);
        assert_eq!(directory.hear(beat(1, 2), now), Change::MissedSomething);
        assert_eq!(directory.hear(beat(1, 2), now), Change::Nothing);
        assert_eq!(directory.hear(beat(2, 5), now), Change::Came, "what it lost before it was known does not count");
    }

    #[test]
    fn a_flood_of_nodes_is_not_kept() {
        let (mut directory, mut now) = directory();
        for number in 1..5 * MAX_NODES as u64 {
            directory.hear(beat(number, 0), now);
        }
        assert_eq!(directory.live().count(), MAX_NODES);
        for number in 1..5 * MAX_NODES as u64 {
            directory.hear(Beat::Farewell(incarnation(number)), now);
        }
        now += PERIOD;
        directory.look(now);
        assert_eq!((directory.live().count(), directory.gone.len()), (0, MAX_NODES));
    }
}
