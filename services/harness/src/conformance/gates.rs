//! Calls that need approval (execution.md §9), and calls that fail.

use futures::FutureExt;
use wire::controller_frame::Frame;
use wire::event::Body as EventBody;
use wire::tool_result::Code;
use wire::{ApprovalRef, Event, EventKind, ToolResult};

use super::asked::Asked;
use super::conversation::Turn;
use super::effect::Effect;
use super::outcome::{Ending, Outcome, name};
use super::{Body, Check, Finding, Frames, Suite};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "park",
        promise: "answers park with one PARKED of the same reference, no END, and the end of the stream",
        body: Body::Scenario(Some(Effect::Gate), |suite| parks(suite).boxed()),
    },
    Check {
        name: "park-then-decision",
        promise: "comes to the same call when a parked turn is run again, and ends it",
        body: Body::Scenario(Some(Effect::Gate), |suite| comes_back(suite).boxed()),
    },
    Check {
        name: "denial",
        promise: "ends a turn whose call was denied",
        body: Body::Scenario(Some(Effect::Gate), |suite| {
            after(suite, Effect::Gate, |asked| asked.decided(false, asked.receipt(false))).boxed()
        }),
    },
    Check {
        name: "approved-call-fails",
        promise: "ends a turn whose approved call failed",
        body: Body::Scenario(Some(Effect::Gate), |suite| {
            let failed = |asked: &Asked| asked.decided(true, asked.receipt_with(true, Code::ExecutorError));
            after(suite, Effect::Gate, failed).boxed()
        }),
    },
    Check {
        name: "tool-fails",
        promise: "ends a turn whose tool call failed",
        body: Body::Scenario(Some(Effect::Tool), |suite| {
            let failed = |asked: &Asked| {
                let result = ToolResult { is_error: true, error: "conformance".into(), ..asked.result() };
                vec![asked.frame(Frame::Tool(result))]
            };
            after(suite, Effect::Tool, failed).boxed()
        }),
    },
];

/// A turn that was parked at its first gate.
struct Parked {
    call: Event,
    reference: ApprovalRef,
    /// What the harness said once it was told.
    aftermath: Outcome,
}

async fn park(suite: &Suite, turn: Turn) -> Result<Parked, String> {
    let mut conversation = suite.open(turn).await?;
    let asked = conversation.until(Effect::Gate).await?;
    let (call, reference) = (conversation.last(), asked.park());
    conversation.send(vec![asked.frame(Frame::Park(reference.clone()))]).await;
    Ok(Parked { call, reference, aftermath: conversation.aftermath().await })
}

async fn parks(suite: &Suite) -> Finding {
    let Parked { reference, aftermath, .. } = park(suite, suite.host.turn()).await?;
    acknowledged(&reference, &aftermath)
}

fn acknowledged(reference: &ApprovalRef, aftermath: &Outcome) -> Finding {
    let Some(first) = aftermath.events.first() else {
        return Err(format!("no PARKED came: {}", aftermath.ending));
    };
    match &first.body {
        _ if first.kind() != EventKind::EventParked => return Err(format!("it answered park with {}", name(first))),
        Some(EventBody::Parked(answer)) if answer == reference => {}
        _ => return Err("PARKED does not carry the reference of the park frame".into()),
    }
    if first.execution_id != aftermath.execution {
        return Err(format!("PARKED carries execution id {:?}, not {:?}", first.execution_id, aftermath.execution));
    }
    match (aftermath.events.get(1), &aftermath.ending) {
        (Some(event), _) => Err(format!("it sent {} after PARKED", name(event))),
        (None, Ending::Closed) => Ok(()),
        (None, ending) => Err(format!("after PARKED {ending}")),
    }
}

async fn comes_back(suite: &Suite) -> Finding {
    let turn = suite.host.turn();
    let parked = park(suite, turn.clone()).await?;
    let mut conversation = suite.open(turn).await?;
    let asked = conversation.until(Effect::Gate).await?;
    if conversation.last().body != parked.call.body {
        return Err("the second time it made another call: id, tool, arguments or idempotency_key differ".into());
    }
    conversation.answer(&asked).await;
    conversation.finish().await.completes()
}

/// Answers the first such effect with `frames`; the turn has to end, well or not.
async fn after(suite: &Suite, effect: Effect, frames: fn(&Asked) -> Frames) -> Finding {
    let mut conversation = suite.open(suite.host.turn()).await?;
    let asked = conversation.until(effect).await?;
    conversation.send(frames(&asked)).await;
    conversation.finish().await.ends_with_reason()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> ApprovalRef {
        ApprovalRef { execution_id: "e".into(), tool_call_id: "c".into(), request_seq: 4 }
    }

    fn parked(reference: ApprovalRef) -> Event {
        Event::new(EventKind::EventParked, EventBody::Parked(reference)).of_execution("e")
    }

    fn finding(events: Vec<Event>, ending: Ending) -> Finding {
        acknowledged(&reference(), &Outcome { execution: "e".into(), events, ending })
    }

    #[test]
    fn one_parked_and_the_end_of_the_stream_acknowledge_a_park() {
        assert_eq!(finding(vec![parked(reference())], Ending::Closed), Ok(()));
    }

    #[test]
    fn anything_else_does_not() {
        let end = Event::new(EventKind::EventEnd, EventBody::End(wire::HarnessEnd::default())).of_execution("e");
        let other = ApprovalRef { request_seq: 5, ..reference() };
        let cases = [
            (vec![], Ending::Closed),
            (vec![end.clone()], Ending::Closed),
            (vec![parked(other)], Ending::Closed),
            (vec![parked(reference()).of_execution("f")], Ending::Closed),
            (vec![parked(reference()), end], Ending::Closed),
            (vec![parked(reference()), parked(reference())], Ending::Closed),
            (vec![parked(reference())], Ending::Broken("no".into())),
        ];
        for (events, ending) in cases {
            assert!(finding(events.clone(), ending).is_err(), "{events:?}");
        }
    }
}
