//! Whole turns on a scripted harness, a scripted journal and a scripted world.

mod accounts;
mod cuts;
mod ends;
mod gates;
mod hostile;
mod legacy;
mod live;
mod recovery;
mod replay;
mod tools;

use journal::ExecutionId;
use wire::event::Body;
use wire::{Event, EventKind, Message, Resumability, part};

use super::{Action, Asked, Divergence, Excess, Input, Interruption, LostWriter, Refusal, Turn, TurnEnd, TurnFailure};
use crate::ports::HostFrame;
use crate::testing::events::*;
use crate::testing::script::*;
use crate::testing::session::*;

/// The kinds of these events, without `EVENT_`.
fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind().as_str_name().trim_start_matches("EVENT_")).collect()
}

/// What a failed turn failed with.
fn failure(end: TurnEnd) -> TurnFailure {
    match end {
        TurnEnd::Failed(failure) => failure,
        other => panic!("the turn did not fail: {other:?}"),
    }
}

fn diverged(divergence: Divergence) -> TurnEnd {
    TurnEnd::Failed(TurnFailure::Diverged(divergence))
}

/// The turn's events after START and INPUT, as kinds.
fn effects(session: &Session) -> Vec<&'static str> {
    kinds(&session.events[2..])
}
