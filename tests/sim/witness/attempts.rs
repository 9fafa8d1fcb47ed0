//! What became of each attempt of a client to begin a turn.

use std::collections::BTreeMap;
use std::fmt;

use journal::SessionUid;
use wire::EventKind;
use wire::event::Body;

use super::Broken;
use super::log::SeenLog;

/// The input of one attempt, which no other has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marker {
    /// What the client wants done.
    pub order: String,
    /// Which attempt at it this is.
    pub attempt: usize,
    /// The client expects the same head in every attempt, or gives its turn the same id: so one of them at most succeeds.
    pub once: bool,
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.order, self.attempt)
    }
}

/// What a client knows of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its first record was acknowledged.
    Begun,
    /// It was told that nothing was recorded.
    Refused,
    /// It does not know.
    Unknown,
}

#[derive(Default)]
pub(super) struct Attempts {
    attempts: BTreeMap<Marker, (String, Fate)>,
}

impl Attempts {
    pub(super) fn note(&mut self, session: &str, marker: Marker, fate: Fate) {
        self.attempts.insert(marker, (session.to_owned(), fate));
    }

    pub(super) fn check(&self, logs: &BTreeMap<SessionUid, SeenLog>) -> Result<(), Broken> {
        let inputs = inputs(logs);
        let mut orders: BTreeMap<&str, usize> = BTreeMap::new();
        for (marker, (session, fate)) in &self.attempts {
            let found = inputs.get(&(session.clone(), marker.to_string())).copied().unwrap_or_default();
            let right = match fate {
                Fate::Begun => found == 1,
                Fate::Refused => found == 0,
                Fate::Unknown => found <= 1,
            };
            if !right {
                return Err(format!("{session}: attempt {marker} is {fate:?} and recorded {found} times"));
            }
            let order = orders.entry(&marker.order).or_default();
            *order += found;
            if marker.once && *order > 1 {
                return Err(format!("{session}: order {} was carried out {order} times", marker.order));
            }
        }
        Ok(())
    }
}

/// How often each input is recorded in each session, by itself.
fn inputs(logs: &BTreeMap<SessionUid, SeenLog>) -> BTreeMap<(String, String), usize> {
    let mut inputs = BTreeMap::new();
    for (session, log) in logs {
        for event in log.own().iter().filter_map(|record| record.event.as_ref()) {
            if let (EventKind::EventInput, Some(Body::Message(message))) = (event.kind(), &event.body) {
                *inputs.entry((session.to_string(), message.text_content())).or_default() += 1;
            }
        }
    }
    inputs
}
