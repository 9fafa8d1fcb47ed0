//! Harnesses that do not.

use support::{Acting, Talk};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{ApprovalRef, ApprovalRequest, EventKind, Mediation, Message, ToolCall};

use super::suite::{check_acting, check_one, failed, names};

/// Believes whatever a host says, and does everything else right.
fn credulous(mut talk: Talk) -> Acting {
    Box::pin(async move {
        talk.ask_model().await;
        talk.hear().await;
        talk.ask_tool("t", Mediation::ControllerMediated).await;
        talk.hear().await;
        talk.ask_tool("g", Mediation::RequiresApproval).await;
        match talk.hear().await {
            Some(Frame::Park(reference)) => return talk.park(reference).await,
            Some(Frame::Approval(_)) => drop(talk.hear().await),
            _ => {}
        }
        talk.end("COMPLETED").await;
    })
}

#[tokio::test]
async fn harness_that_believes_everything_fails_each_check_with_a_wrong_frame_and_no_other() {
    let verdicts = check_acting(credulous).await;
    let expected = [
        "approval-other-call",
        "approval-other-execution",
        "approval-other-session",
        "approval-without-request",
        "cancel",
        "cancel-other-execution",
        "first-frame",
        "gate-tool-first",
        "model-other-call",
        "model-other-execution",
        "park-other-call",
        "park-other-execution",
        "park-other-session",
        "park-without-request",
        "receipt-approved-denied",
        "receipt-approved-with-code",
        "receipt-approved-without-code",
        "receipt-denied-but-run",
        "receipt-denied-other-error",
        "receipt-other-call",
        "receipt-other-request",
        "start-twice",
        "start-without-execution",
        "tool-other-call",
        "tool-other-execution",
        "tool-other-session",
        "unknown-frame",
    ];
    assert_eq!(names(&verdicts, failed), expected, "{verdicts:#?}");
}

/// Asks for a gated call and does `parked` when it is told to park.
fn at_gate(
    mut talk: Talk,
    parked: for<'a> fn(&'a mut Talk, ApprovalRef) -> futures::future::BoxFuture<'a, ()>,
) -> Acting {
    Box::pin(async move {
        talk.ask_tool("g", Mediation::RequiresApproval).await;
        match talk.hear().await {
            Some(Frame::Park(reference)) => parked(&mut talk, reference).await,
            _ => talk.end("COMPLETED").await,
        }
    })
}

/// Says one thing, then ends well.
fn saying(mut talk: Talk, kind: EventKind, body: Option<Body>) -> Acting {
    Box::pin(async move {
        let event = wire::Event::new(kind, body).of_execution(talk.execution.as_str());
        talk.say_event(event).await;
        talk.hear_if_asked(kind).await;
        talk.end("COMPLETED").await;
    })
}

/// The check that finds a flaw, what the harness does, and the harness.
type Flaw = (&'static str, &'static str, fn(Talk) -> Acting);

const FLAWS: &[Flaw] = &[
    ("turn-completes", "says nothing", |talk| {
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(talk);
        })
    }),
    ("turn-completes", "closes without END", |talk| Box::pin(async move { drop(talk) })),
    ("turn-completes", "ends twice", |mut talk| {
        Box::pin(async move {
            talk.end("COMPLETED").await;
            talk.end("COMPLETED").await;
        })
    }),
    ("turn-completes", "does not close after END", |mut talk| {
        Box::pin(async move {
            talk.end("COMPLETED").await;
            std::future::pending().await
        })
    }),
    ("turn-completes", "fails", |mut talk| Box::pin(async move { talk.end("FAILED").await })),
    ("turn-completes", "never stops", |mut talk| {
        Box::pin(async move {
            while talk.is_heard() {
                talk.say(EventKind::EventOutput, Body::Message(Message::text("assistant", "more"))).await;
            }
        })
    }),
    ("execution-id", "names another execution", |mut talk| {
        talk.execution = "another".into();
        Box::pin(async move { talk.end("COMPLETED").await })
    }),
    ("events", "mints an approval", |talk| {
        saying(talk, EventKind::EventApprovalRequest, Some(Body::Approval(ApprovalRequest::default())))
    }),
    ("events", "starts an execution", |talk| saying(talk, EventKind::EventExecutionStart, None)),
    ("events", "has no payload", |talk| saying(talk, EventKind::EventUsage, None)),
    ("events", "parks by itself", |talk| saying(talk, EventKind::EventParked, None)),
    ("calls", "has no key", |talk| {
        let mediation = Mediation::ControllerMediated.into();
        let call = ToolCall { id: "t".into(), mediation, ..ToolCall::default() };
        saying(talk, EventKind::EventToolCall, Some(Body::Tool(call)))
    }),
    ("calls", "asks for no mediation", |talk| {
        let call = ToolCall { id: "t".into(), idempotency_key: "k".into(), ..ToolCall::default() };
        saying(talk, EventKind::EventToolCall, Some(Body::Tool(call)))
    }),
    ("calls", "gates an id twice", |mut talk| {
        Box::pin(async move {
            for _ in 0..2 {
                talk.ask_tool("g", Mediation::RequiresApproval).await;
                talk.hear().await;
                talk.hear().await;
            }
            talk.end("COMPLETED").await;
        })
    }),
    ("replay", "is different each time", |talk| {
        let text = env::execution_id(&env::Env::system());
        saying(talk, EventKind::EventOutput, Some(Body::Message(Message::text("assistant", text))))
    }),
    ("park", "ends after PARKED", |talk| {
        at_gate(talk, |talk, reference| {
            Box::pin(async move {
                talk.park(reference).await;
                talk.end("COMPLETED").await;
            })
        })
    }),
    ("park", "parks for something else", |talk| {
        at_gate(talk, |talk, reference| {
            Box::pin(async move { talk.park(ApprovalRef { request_seq: 1_000, ..reference }).await })
        })
    }),
    ("park", "does not answer a park", |talk| at_gate(talk, |_, _| Box::pin(std::future::pending()))),
];

#[tokio::test]
async fn each_flaw_fails_the_check_that_is_for_it() {
    for (check, flaw, act) in FLAWS {
        let verdict = check_one(check, *act).await;
        assert!(failed(&verdict), "a harness that {flaw} passes {check}: {verdict:?}");
    }
}
