//! Replay of recorded effects as Resume does it (execution.md §7.1). That a completed turn replays without a live call is
//! controller replay, which no call of the service runs: services/controller/src/turn/tests/replay.rs.

use support::Step;
use support::records::{Of, gated, mediated, question, receipt, result, usage};
use tonic::Code::{FailedPrecondition, Internal, Ok as Fine};
use wire::controller_frame::Frame;
use wire::{Event, ToolCall, ToolResult};

use super::world::{HARNESS, World, started_on};

/// START and these effects of `e1`.
fn recorded(effects: impl IntoIterator<Item = Event>) -> Vec<Event> {
    [started_on(HARNESS, "1")].into_iter().chain(effects).collect()
}

/// A gate from TOOL_CALL at 2 to its receipt at 5.
fn received() -> [Event; 4] {
    let e1 = Of("e1");
    [e1.call(gated("g")), e1.request("g"), e1.decision("g", 3, true), e1.result(receipt("g", 3, 4))]
}

/// What is matched is served: the turn ends well and nothing is done again.
#[tokio::test]
async fn each_action_that_finds_its_effect_is_served() {
    let world = World::new().await;
    let e1 = Of("e1");
    let other_content = ToolResult { content: vec![wire::Part::text("other")], ..result("r") };
    let table = [
        ("model request", recorded([e1.model_call(&question("a")), e1.output("b")]), Step::model(question("a"))),
        ("output", recorded([e1.output("x")]), Step::output("x")),
        ("usage", recorded([e1.usage(usage(1))]), Step::usage(1)),
        ("mediated tool", recorded([e1.call(mediated("t")), e1.result(result("t"))]), Step::call(mediated("t"))),
        ("reported result", recorded([e1.result(result("r"))]), Step::report(other_content)),
        ("gated call", recorded(received()), Step::gate("g")),
        ("ERROR and LIFECYCLE are skipped", recorded([e1.error(), e1.output("x"), e1.error()]), Step::output("x")),
    ];
    for (row, log, step) in table {
        let session = world.recorded(log.clone()).await;
        world.harness.does([step]);
        assert_eq!(world.resume(&session).await, Fine, "{row}");
        let appended = world.words(&session).await.split(' ').skip(log.len()).collect::<Vec<_>>().join(" ");
        assert_eq!(appended, "END RESUME", "{row}");
    }
    assert_eq!((world.model.calls(), world.tools.calls().len()), (0, 0));
}

/// What is not matched diverges: INTERNAL, an ERROR record, and nothing live, whatever the harness does next.
#[tokio::test]
async fn each_action_that_finds_something_else_diverges() {
    let world = World::new().await;
    let e1 = Of("e1");
    let tool = || [e1.call(mediated("t")), e1.result(result("t"))];
    let keyless = ToolCall { idempotency_key: String::new(), ..mediated("g") };
    let unspecified = ToolCall { mediation: 0, ..mediated("t") };
    let other_args = ToolCall { idempotency_key: "other".into(), ..gated("g") };
    let table = [
        (
            "model request, another hash",
            recorded([e1.model_call(&question("a")), e1.output("b")]),
            Step::model(question("other")),
        ),
        ("model request, another effect", recorded([e1.usage(usage(1))]), Step::model(question("a"))),
        ("output, another text", recorded([e1.output("x")]), Step::output("y")),
        ("output, that of a model", recorded([e1.model_call(&question("a")), e1.output("b")]), Step::output("b")),
        ("usage, other fields", recorded([e1.usage(usage(1))]), Step::usage(2)),
        ("mediated tool, another call", recorded(tool()), Step::call(mediated("u"))),
        (
            "mediated tool, the result of another",
            recorded([e1.call(mediated("t")), e1.result(result("u"))]),
            Step::call(mediated("t")),
        ),
        ("reported result, a receipt", recorded(received()), Step::report(result("r"))),
        ("reported result, another effect", recorded([e1.output("x")]), Step::report(result("r"))),
        ("gated call, another call", recorded(received()), Step::call(other_args)),
        ("gated call, another effect", recorded([e1.output("x")]), Step::gate("g")),
        ("end of run, effects left over", recorded([e1.output("x")]), Step::End("COMPLETED")),
        ("no key, where a gated call of the id is recorded", recorded(received()), Step::call(keyless)),
        ("a refused mediation, where a call of the id is recorded", recorded(tool()), Step::call(unspecified)),
    ];
    for (row, log, step) in table {
        let session = world.recorded(log.clone()).await;
        world.harness.does([step, Step::output("swallowed"), Step::call(mediated("later"))]);
        assert_eq!(world.resume(&session).await, Internal, "{row}");
        let appended = world.words(&session).await.split(' ').skip(log.len()).collect::<Vec<_>>().join(" ");
        assert_eq!(appended, "ERROR", "{row}");
    }
    assert_eq!((world.model.calls(), world.tools.calls().len()), (0, 0));
}

/// Errors that the recorded harness met and handled are met again, without a live call and without divergence.
#[tokio::test]
async fn recorded_errors_are_errors_again() {
    let world = World::new().await;
    let e1 = Of("e1");
    let keyless = ToolCall { idempotency_key: String::new(), ..mediated("t") };
    let unspecified = ToolCall { mediation: 0, ..mediated("t") };
    let table = [
        (
            "completion missing",
            recorded([e1.model_call(&question("a")), e1.usage(usage(1))]),
            Step::model(question("a")),
        ),
        ("no result", recorded([e1.call(mediated("t")), e1.output("x")]), Step::call(mediated("t"))),
        ("missing key", recorded([e1.output("x")]), Step::call(keyless)),
        ("refused mediation, no call next", recorded([e1.output("x")]), Step::call(unspecified.clone())),
        (
            "refused mediation, a call of another id",
            recorded([e1.call(mediated("u")), e1.result(result("u"))]),
            Step::call(unspecified),
        ),
    ];
    for (row, log, step) in table {
        let session = world.recorded(log).await;
        world.harness.does([step]);
        let status = world.api().resume(&session).await.unwrap_err();
        assert_eq!(status.code(), Internal, "{row}");
        assert!(!status.message().contains("diverged"), "{row}: {}", status.message());
        assert!(world.words(&session).await.ends_with("ERROR"), "{row}");
    }
    assert_eq!((world.model.calls(), world.tools.calls().len()), (0, 0));
}

/// On Resume, an action after the last recorded effect is live.
#[tokio::test]
async fn past_the_last_effect_all_is_live() {
    let world = World::new().await;
    let session = world.recorded(recorded([Of("e1").output("x")])).await;
    world.harness.does([Step::output("x"), Step::model(question("a")), Step::call(mediated("t")), Step::usage(1)]);
    assert_eq!(world.resume(&session).await, Fine);
    let expected = "START OUTPUT MODEL_CALL OUTPUT TOOL_CALL TOOL_RESULT USAGE END RESUME";
    assert_eq!(world.words(&session).await, expected);
}

/// A report of a gated call: diverged while effects are left; past them the turn is sealed.
#[tokio::test]
async fn a_report_of_a_gated_call() {
    let world = World::new().await;
    world.harness.does([Step::gate("g"), Step::report(result("g"))]);
    let left = recorded(received().into_iter().chain([Of("e1").output("x")]));
    let past = recorded(received());
    for (log, code, appended) in [(left, Internal, " OUTPUT ERROR"), (past, FailedPrecondition, "")] {
        let session = world.recorded(log).await;
        assert_eq!(world.resume(&session).await, code);
        let expected = format!("START TOOL_CALL APPROVAL_REQUEST APPROVAL_RESULT TOOL_RESULT{appended}");
        assert_eq!(world.words(&session).await, expected);
    }
}

/// I2 and I5: what is served equals what is recorded.
#[tokio::test]
async fn results_are_served_as_they_are_recorded() {
    let world = World::new().await;
    let opaque = Some(wire::reasoning_part::Opaque::OpaqueBytes(vec![0, 255, 7]));
    let reasoning = wire::ReasoningPart { opaque, ordinal: 2, provider: "p".into(), ..Default::default() };
    let answer = wire::Message { role: "assistant".into(), parts: vec![wire::part::Part::Reasoning(reasoning).into()] };
    let e1 = Of("e1");
    let output = e1.event(wire::EventKind::EventOutput, wire::event::Body::Message(answer.clone()));
    let effects = [e1.model_call(&question("a")), output, e1.call(mediated("t")), e1.result(result("t"))];
    let session = world.recorded(recorded(effects)).await;
    world.harness.does([Step::model(question("a")), Step::call(mediated("t"))]);
    assert_eq!(world.resume(&session).await, Fine);
    let run: Vec<_> = world.harness.runs().remove(0).into_iter().filter_map(|frame| frame.frame).collect();
    let [_, Frame::Model(model), Frame::Tool(tool)] = &run[..] else { panic!("{run:?}") };
    assert_eq!((model.message.as_ref(), tool), (Some(&answer), &result("t")));
}
