//! What waits for an agent: of each of its inputs no more than section 18 allows. What goes beyond that is held back, neither
//! acknowledged nor made durable, until the agent was handed something.

use std::collections::{HashMap, VecDeque};

use journal::invocations::{StreamId, StreamProgress, Volume};
use tokio::time::Instant;

use super::Request;

/// Most entries of one input that wait for the agent.
const MOST_ENTRIES: u64 = 256;
/// Most bytes of one input, as they are charged, that wait for the agent.
const MOST_CHARGE: u64 = 16 << 20;

/// The inputs of a session.
#[derive(Debug, Default)]
pub(in crate::streams) struct Queues {
    /// Those of which something was accepted.
    inputs: HashMap<StreamId, Queue>,
    held: HashMap<StreamId, Held>,
}

/// How much of an input was accepted, and how much of that its agent was handed, since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    accepted: Volume,
    handed: Volume,
}

/// What is held back of an input, in order.
#[derive(Debug)]
struct Held {
    requests: VecDeque<Request>,
    /// Since when the first of them is the next one.
    since: Instant,
}

impl Queues {
    /// Takes note of an input as it is before this connection accepts anything.
    pub(in crate::streams) fn place(&mut self, progress: &StreamProgress) {
        self.inputs.insert(progress.id, Queue { accepted: progress.volume, handed: progress.handed });
    }

    /// Takes a request about an input. Answers it if it can be done now.
    pub(super) fn admit(&mut self, stream: StreamId, request: Request) -> Option<Request> {
        if let Some(held) = self.held.get_mut(&stream) {
            held.requests.push_back(request);
            return None;
        }
        if self.inputs.entry(stream).or_default().admits(&request) {
            return Some(request);
        }
        self.held.insert(stream, Held { requests: [request].into(), since: Instant::now() });
        None
    }

    /// The agent was handed so much of an input. Answers what can be done now.
    pub(super) fn hand(&mut self, stream: StreamId, handed: Volume) -> Vec<Request> {
        let Some(queue) = self.inputs.get_mut(&stream) else { return Vec::new() };
        queue.handed = handed;
        let Some(held) = self.held.get_mut(&stream) else { return Vec::new() };
        let mut admitted = Vec::new();
        while let Some(request) = held.requests.pop_front_if(|request| queue.admits(request)) {
            admitted.push(request);
        }
        if held.requests.is_empty() {
            self.held.remove(&stream);
        } else if !admitted.is_empty() {
            held.since = Instant::now();
        }
        admitted
    }

    /// Gives up what is held back of an input.
    pub(super) fn drop_held(&mut self, stream: StreamId) -> VecDeque<Request> {
        self.held.remove(&stream).map(|held| held.requests).unwrap_or_default()
    }

    /// Gives up all that is held back.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    /// Whether anything is held back.
    pub(super) fn hold(&self) -> bool {
        !self.held.is_empty()
    }

    /// Since when something has been next in vain.
    pub(super) fn held_since(&self) -> Option<Instant> {
        self.held.values().map(|held| held.since).min()
    }
}

impl Queue {
    /// Whether a request can be done, which it then is taken to be. Only items need room.
    fn admits(&mut self, request: &Request) -> bool {
        let Some(charge) = request.accepts() else { return true };
        let waiting = self.accepted.without(self.handed);
        let fits = waiting.entries < MOST_ENTRIES && waiting.charge + charge <= MOST_CHARGE;
        let admitted = fits || waiting.entries == 0;
        if admitted {
            self.accepted += Volume::entry(charge);
        }
        admitted
    }
}
