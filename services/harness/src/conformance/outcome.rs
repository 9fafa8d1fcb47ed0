//! What a harness said in one turn.

use std::fmt;
use std::time::Duration;

use wire::event::Body;
use wire::{Event, HarnessEnd};

use super::Finding;
use super::effect::Effect;

/// The state of a turn that ended well.
const COMPLETED: &str = "COMPLETED";

/// Everything a harness said in one turn.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) execution: String,
    pub(super) events: Vec<Event>,
    pub(super) ending: Ending,
}

/// How a stream came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Closed,
    Broken(String),
    /// It did not: the harness said nothing for so long.
    Silent(Duration),
    /// It did not: the harness went on and on.
    Endless,
}

impl Outcome {
    pub(super) fn asks_for(&self, effect: Effect) -> bool {
        self.events.iter().any(|event| effect.is_asked_by(event))
    }

    /// A turn ends with exactly one END, and with it its stream.
    pub(super) fn ends_once(&self) -> Finding {
        let mut rest = self.events.iter().skip_while(|event| end(event).is_none());
        let Some(last) = rest.next().and_then(end) else {
            return Err(format!("no END came: {}", self.ending));
        };
        if let Some(event) = rest.next() {
            return Err(format!("it sent {} after END", name(event)));
        }
        match &self.ending {
            Ending::Closed => Ok(()),
            Ending::Broken(_) if last.state != COMPLETED => Ok(()),
            ending => Err(format!("after END {ending}")),
        }
    }

    /// A turn in which the host kept to the rules ends well.
    pub(super) fn completes(&self) -> Finding {
        self.ends_once()?;
        match self.events.last().and_then(end) {
            Some(end) if end.state == COMPLETED => Ok(()),
            Some(end) => Err(format!("the turn ended {:?}: {}", end.state, description(end))),
            None => Ok(()),
        }
    }

    /// A turn ends well, or as failed with a reason.
    pub(super) fn ends_with_reason(&self) -> Finding {
        self.ends_once()?;
        self.events.last().and_then(end).map_or(Ok(()), reasoned)
    }

    /// After what the host did wrong the turn fails, and nothing else happens.
    pub(super) fn fails_at_once(&self) -> Finding {
        match self.events.first() {
            Some(event) => match end(event) {
                None => Err(format!("it went on with {}", name(event))),
                Some(end) if end.state == COMPLETED => Err("it completed the turn".into()),
                Some(end) => reasoned(end).and_then(|()| self.ends_once()),
            },
            None => match &self.ending {
                Ending::Broken(_) => Ok(()),
                Ending::Closed => Err("it ended its stream without END, which a host takes for success".into()),
                ending => Err(format!("it did not fail: {ending}")),
            },
        }
    }
}

/// A failed turn says why.
fn reasoned(end: &HarnessEnd) -> Finding {
    if end.state != COMPLETED && description(end).is_empty() {
        return Err(format!("END {:?} has no error.description", end.state));
    }
    Ok(())
}

fn description(end: &HarnessEnd) -> &str {
    end.error.as_ref().map(|error| error.description.as_str()).unwrap_or_default()
}

pub(super) fn end(event: &Event) -> Option<&HarnessEnd> {
    match &event.body {
        Some(Body::End(end)) => Some(end),
        _ => None,
    }
}

/// The name of an event in findings.
pub(super) fn name(event: &Event) -> &'static str {
    event.kind().as_str_name()
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("it ended its stream"),
            Self::Broken(status) => write!(f, "its stream broke: {status}"),
            Self::Endless => f.write_str("it goes on without an end"),
            Self::Silent(patience) => write!(f, "nothing came for {patience:?}"),
        }
    }
}
