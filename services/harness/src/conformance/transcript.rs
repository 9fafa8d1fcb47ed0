//! Checks of the first turn. Pure: they look at what was said.

use std::collections::HashSet;

use wire::canonical::Canonical;
use wire::event::Body;
use wire::{Event, EventKind, Mediation, ModelCall, ToolCall};

use super::outcome::{Outcome, name};
use super::{Body as CheckBody, Check, Finding};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "turn-completes",
        promise: "ends a turn with one END, COMPLETED, and with it the stream",
        body: CheckBody::Transcript(Outcome::completes),
    },
    Check {
        name: "execution-id",
        promise: "puts the execution id of the turn on every event",
        body: CheckBody::Transcript(execution_ids),
    },
    Check {
        name: "events",
        promise: "sends only what a harness may send, with its payload",
        body: CheckBody::Transcript(own_events),
    },
    Check {
        name: "calls",
        promise: "makes model requests and tool calls that a host can record",
        body: CheckBody::Transcript(calls),
    },
];

pub(super) fn execution_ids(first: &Outcome) -> Finding {
    match first.events.iter().find(|event| event.execution_id != first.execution) {
        Some(event) => {
            Err(format!("{} carries execution id {:?}, not {:?}", name(event), event.execution_id, first.execution))
        }
        None => Ok(()),
    }
}

fn own_events(first: &Outcome) -> Finding {
    first.events.iter().try_for_each(own_event)
}

fn own_event(event: &Event) -> Finding {
    match (event.kind(), &event.body) {
        (EventKind::EventModelCall, Some(Body::Model(_)))
        | (EventKind::EventToolCall, Some(Body::Tool(_)))
        | (EventKind::EventToolResult, Some(Body::Result(_)))
        | (EventKind::EventUsage, Some(Body::Usage(_)))
        | (EventKind::EventOutput, Some(Body::Message(_)))
        | (EventKind::EventEnd, Some(Body::End(_))) => Ok(()),
        (
            EventKind::EventModelCall
            | EventKind::EventToolCall
            | EventKind::EventToolResult
            | EventKind::EventUsage
            | EventKind::EventOutput
            | EventKind::EventEnd,
            _,
        ) => Err(format!("{} has no payload, or another one", name(event))),
        (EventKind::EventParked, _) => Err("it parked and was not told to".into()),
        _ => Err(format!("{} is for hosts alone", name(event))),
    }
}

fn calls(first: &Outcome) -> Finding {
    let mut gated = HashSet::new();
    let mut ordinary = HashSet::new();
    for event in &first.events {
        match &event.body {
            Some(Body::Model(call)) => model_call(call)?,
            Some(Body::Tool(call)) => {
                tool_call(call)?;
                let is_gated = call.mediation() == Mediation::RequiresApproval;
                let (own, other) = if is_gated { (&mut gated, &ordinary) } else { (&mut ordinary, &gated) };
                // An ordinary call may have the id of an earlier ordinary one, and no other may.
                if other.contains(&call.id) || (!own.insert(call.id.clone()) && is_gated) {
                    return Err(format!("the id {:?} of a gated call is used twice", call.id));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn model_call(call: &ModelCall) -> Finding {
    wire::input_hash(call).map(drop).map_err(|invalid| format!("a model request is invalid: {invalid}"))
}

fn tool_call(call: &ToolCall) -> Finding {
    let id = &call.id;
    match call.mediation() {
        Mediation::ControllerMediated => {}
        Mediation::RequiresApproval if id.is_empty() => return Err("a tool call that needs approval has no id".into()),
        Mediation::RequiresApproval => {}
        other => return Err(format!("tool call {id:?} asks for {}", other.as_str_name())),
    }
    if call.idempotency_key.is_empty() {
        return Err(format!("tool call {id:?} has no idempotency_key"));
    }
    call.canonical_json().map(drop).map_err(|error| format!("tool call {id:?} cannot be recorded: {error}"))
}
