//! Harness.Connect, the host's side (execution.md §6.1). The harness's side (§6.2) is the conformance suite: tests/harness.

use support::Step;
use support::records::{Of, mediated, question, result};
use tonic::Code::{Internal, Ok as Fine};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{ApprovalRef, EventKind, Lifecycle, Message};

use super::world::{World, event};

#[tokio::test]
async fn every_frame_carries_session_and_execution_and_the_first_is_start() {
    let world = World::new().await;
    let session = world.session().await;
    let steps = [Step::model(question("?")), Step::call(mediated("t")), Step::gate("g")];
    let executed = world.run(&session, steps).await;
    let execution = &event(&executed.records[0]).execution_id;
    let run = world.harness.runs().remove(0);
    assert!(matches!(run[0].frame, Some(Frame::Start(_))));
    assert_eq!(run.len(), 4);
    for frame in run {
        assert_eq!((&frame.session, &frame.execution_id), (&session, execution), "{:?}", frame.frame);
    }
}

/// What each event of a harness does to its turn.
#[tokio::test]
async fn events() {
    let world = World::new().await;
    let raw = |event: wire::Event| Step::Raw(Box::new(event));
    let say = |kind, body| Step::Say(kind, body);
    let reference = || ApprovalRef { execution_id: "e".into(), tool_call_id: "g".into(), request_seq: 3 };
    let lifecycle = || Some(Body::Lifecycle(Lifecycle::default()));
    let message = || Some(Body::Message(Message::text("user", "x")));
    let fails = "ERROR";
    let ignored = "OUTPUT END";
    let table = [
        ("another execution id", raw(Of("another").output("x")), fails),
        ("no execution id", raw(Of("").output("x")), fails),
        ("TOOL_CALL without payload", say(EventKind::EventToolCall, None), fails),
        ("MODEL_CALL without payload", say(EventKind::EventModelCall, None), fails),
        ("TOOL_RESULT without payload", say(EventKind::EventToolResult, None), ignored),
        ("USAGE without payload", say(EventKind::EventUsage, None), ignored),
        ("OUTPUT without message", say(EventKind::EventOutput, None), ignored),
        ("INPUT", say(EventKind::EventInput, message()), ignored),
        ("LIFECYCLE", say(EventKind::EventLifecycle, lifecycle()), ignored),
        ("ERROR", say(EventKind::EventError, None), ignored),
        ("unspecified kind", say(EventKind::Unspecified, message()), ignored),
        ("APPROVAL_REQUEST", say(EventKind::EventApprovalRequest, None), fails),
        ("APPROVAL_RESULT", say(EventKind::EventApprovalResult, None), fails),
        ("EXECUTION_START", say(EventKind::EventExecutionStart, None), fails),
        ("PARKED when no park was sent", say(EventKind::EventParked, Some(Body::Parked(reference()))), fails),
        ("END ends reading", Step::output("before"), ignored),
    ];
    for (row, step, effects) in table {
        let session = world.session().await;
        let last = if row == "END ends reading" { vec![step] } else { vec![step, Step::output("x")] };
        let ended = vec![say(EventKind::EventEnd, Some(end())), Step::output("after the end"), Step::Break];
        let executed = world.run(&session, [last, ended].concat()).await;
        assert_eq!(executed.code, if effects == fails { Internal } else { Fine }, "{row}");
        assert_eq!(world.words(&session).await, format!("START INPUT {effects}"), "{row}");
    }
}

fn end() -> Body {
    Body::End(wire::HarnessEnd { state: "COMPLETED".into(), error: None })
}

/// Any error of a mediated effect: the turn fails, the stream is cancelled, the harness is never told.
#[tokio::test]
async fn a_harness_is_never_told_of_an_error() {
    let world = World::new().await;
    world.model.set_refusing(true);
    world.tools.fail(1);
    for step in [Step::model(question("?")), Step::call(mediated("t"))] {
        let session = world.session().await;
        assert_eq!(world.run(&session, [step, Step::output("not told")]).await.code, Internal);
        let run = world.harness.runs().pop().unwrap();
        assert!(matches!(&run[..], [start] if matches!(start.frame, Some(Frame::Start(_)))), "{run:?}");
        assert!(world.words(&session).await.ends_with("ERROR"));
    }
}

/// One effect at a time: what comes early waits for the reply before it.
#[tokio::test]
async fn effects_sent_at_once_are_answered_one_after_the_other() {
    let world = World::new().await;
    let session = world.session().await;
    let ask = |id: &str| Step::Say(EventKind::EventToolCall, Some(Body::Tool(mediated(id))));
    let steps = [ask("a"), Step::output("x"), ask("b"), Step::report(result("r")), Step::Hear, Step::Hear];
    assert_eq!(world.run(&session, steps).await.code, Fine);
    let expected = "START INPUT TOOL_CALL TOOL_RESULT OUTPUT TOOL_CALL TOOL_RESULT TOOL_RESULT END";
    assert_eq!(world.words(&session).await, expected);
}

/// The frames that reply: `model`, `tool`, `approval` then `tool`, `park`.
#[tokio::test]
async fn replies() {
    let world = World::new().await;
    let frames = |run: Vec<wire::ControllerFrame>| -> Vec<&'static str> {
        let name = |frame: wire::ControllerFrame| match frame.frame {
            Some(Frame::Start(_)) => "start",
            Some(Frame::Model(_)) => "model",
            Some(Frame::Tool(_)) => "tool",
            Some(Frame::Approval(_)) => "approval",
            Some(Frame::Park(_)) => "park",
            Some(Frame::Stream(_)) => "stream",
            Some(Frame::Cancel(_)) => "cancel",
            None => "nothing",
        };
        run.into_iter().map(name).collect()
    };
    let steps = [Step::model(question("?")), Step::call(mediated("t")), Step::gate("g"), Step::Wait];
    let session = world.session().await;
    world.run(&session, steps).await;
    assert_eq!(frames(world.harness.runs().remove(0)), ["start", "model", "tool", "park"]);
    let gate = world.get(&session).await.pending_approval.unwrap();
    world.api().approve(support::decision(&session, &gate, true)).await.unwrap();
    let mut api = world.api();
    let (_, ()) = tokio::join!(api.resume(&session), async {
        world.harness.waiting().await;
        world.harness.release();
    });
    assert_eq!(frames(world.harness.runs().remove(1)), ["start", "model", "tool", "approval", "tool"]);
}
