//! The turns of a log, each as a whole.

use wire::event::Body;
use wire::{Event, EventKind, HarnessEnd};

use super::Broken;
use super::log::SeenLog;
use crate::script;

/// Checks every turn of a log.
pub(super) fn check(log: &SeenLog) -> Result<(), Broken> {
    let events: Vec<&Event> = log.events().iter().filter(|event| event.kind() != EventKind::EventLifecycle).collect();
    let mut begun: Vec<&str> = Vec::new();
    for turn in events.chunk_by(|one, next| one.execution_id == next.execution_id) {
        let execution = turn[0].execution_id.as_str();
        if begun.contains(&execution) {
            return Err(format!("turn {execution} goes on after a newer one"));
        }
        begun.push(execution);
        check_turn(execution, turn)?;
    }
    Ok(())
}

fn check_turn(execution: &str, turn: &[&Event]) -> Result<(), Broken> {
    let mut kinds: Vec<EventKind> =
        turn.iter().map(|event| event.kind()).filter(|&kind| kind != EventKind::EventError).collect();
    if is_canceled(turn) {
        // It ends wherever it was.
        kinds.retain(|&kind| kind != EventKind::EventEnd);
    }
    let Some(Body::ExecutionStart(start)) = &turn[0].body else {
        return Err(format!("turn {execution} begins with {:?}", turn[0].kind()));
    };
    let expected = script::records(&start.config);
    let ended = kinds.last() == Some(&EventKind::EventEnd);
    let right = if ended { kinds == expected } else { expected.starts_with(&kinds) };
    if right { Ok(()) } else { Err(format!("turn {execution} has {kinds:?}, its script is {expected:?}")) }
}

fn is_canceled(turn: &[&Event]) -> bool {
    turn.iter().any(|event| matches!(&event.body, Some(Body::End(end)) if end.state == HarnessEnd::CANCELED))
}
