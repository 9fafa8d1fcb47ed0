//! Effects (execution.md §5).

use serde_json::json;
use support::Step;
use support::records::{gated, mediated, question, receipt, result};
use tonic::Code::{FailedPrecondition, Internal, Ok as Fine};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::tool_choice::Mode;
use wire::tool_result::Code as Status;
use wire::{LogRecord, Mediation, ModelCall, ToolCall, ToolChoice, ToolResult};

use super::world::{World, event};

/// The frames after the first one of the last run.
fn answers(world: &World) -> Vec<Frame> {
    let run = world.harness.runs().pop().unwrap();
    run.into_iter().skip(1).filter_map(|frame| frame.frame).collect()
}

fn body(record: &LogRecord) -> &Body {
    event(record).body.as_ref().unwrap()
}

/// §5.1
#[tokio::test]
async fn a_completion_is_recorded_before_it_is_told_under_the_harness_s_own_id() {
    let world = World::new().await;
    let session = world.session().await;
    let executed = world.run(&session, [Step::model(question("why"))]).await;
    assert_eq!(executed.frames, "Session START INPUT MODEL_CALL delta OUTPUT END");
    let (Body::Model(call), Body::Message(output)) = (body(&executed.records[2]), body(&executed.records[3])) else {
        panic!("{:?}", executed.records)
    };
    assert_eq!(call.input_hash, wire::input_hash(&question("why")).unwrap());
    assert_ne!(call.id, "asked", "the pair is correlated by adjacency, not by id");
    assert_eq!(output.text_content(), "answer to why");
    let answers = answers(&world);
    let [Frame::Model(told)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(
        (told.model_call_id.as_str(), told.message.as_ref(), told.usage.as_ref()),
        ("asked", Some(output), None)
    );
}

/// §5.1
#[tokio::test]
async fn a_model_request_that_is_bad_fails_before_anything_is_recorded() {
    let world = World::new().await;
    let session = world.session().await;
    let tool_choice = Some(ToolChoice { mode: 77, ..ToolChoice::default() });
    let bad = world.run(&session, [Step::model(ModelCall { tool_choice, ..question("?") })]).await;
    assert_eq!((bad.code, bad.frames.as_str()), (Internal, "Session START INPUT ERROR"));
    assert_eq!(world.model.calls(), 0);
    assert!(Mode::try_from(77).is_err());
}

/// §5.2
#[tokio::test]
async fn output_and_usage_are_recorded_and_get_no_reply() {
    let world = World::new().await;
    let session = world.session().await;
    let executed = world.run(&session, [Step::output("said"), Step::usage(5)]).await;
    assert_eq!(executed.frames, "Session START INPUT OUTPUT USAGE END");
    let Body::Message(output) = body(&executed.records[2]) else { panic!() };
    assert_eq!((output.parts.len(), output.text_content().as_str()), (1, "said"));
    assert_eq!(*body(&executed.records[3]), Body::Usage(support::records::usage(5)));
    assert!(answers(&world).is_empty());
}

/// §5.3
#[tokio::test]
async fn mediations() {
    let world = World::new().await;
    let with = |mediation: Mediation| Step::call(ToolCall { mediation: mediation.into(), ..mediated("t") });
    let table = [
        ("IN_HARNESS_REPORTED", Step::report(result("t")), Fine, "TOOL_RESULT END", 0),
        ("CONTROLLER_MEDIATED", with(Mediation::ControllerMediated), Fine, "TOOL_CALL TOOL_RESULT END", 1),
        ("REQUIRES_APPROVAL", with(Mediation::RequiresApproval), Fine, "TOOL_CALL APPROVAL_REQUEST SUSPEND", 1),
        ("UNSPECIFIED", with(Mediation::Unspecified), Internal, "ERROR", 0),
        ("IN_HARNESS_REPORTED sent as TOOL_CALL", with(Mediation::InHarnessReported), Internal, "ERROR", 0),
    ];
    for (row, step, code, effects, replies) in table {
        let session = world.session().await;
        assert_eq!(world.run(&session, [step]).await.code, code, "{row}");
        assert_eq!(world.words(&session).await, format!("START INPUT {effects}"), "{row}");
        assert_eq!(answers(&world).len(), replies, "{row}");
    }
}

#[tokio::test]
async fn the_executor_gets_session_and_key_and_its_result_the_id_of_the_call() {
    let world = World::new().await;
    world.tools.answer(json!({"content": "done", "output": {"n": 1}}));
    let session = world.session().await;
    let executed = world.run(&session, [Step::call(mediated("t"))]).await;
    assert_eq!(world.tools.calls(), [(session, "key-t".to_owned())]);
    assert_eq!(*body(&executed.records[2]), Body::Tool(mediated("t")));
    let Body::Result(recorded) = body(&executed.records[3]) else { panic!() };
    assert_eq!(recorded.id, "t");
    assert_eq!(answers(&world), [Frame::Tool(recorded.clone())]);
}

/// §5.3 rules 1 to 3
#[tokio::test]
async fn what_refuses_or_fails_a_mediated_call() {
    let world = World::new().await;
    let bare = world.node_without_tools().await;
    let keyless = ToolCall { idempotency_key: String::new(), ..mediated("t") };
    let unlisted = ToolCall { tool: "unlisted".into(), ..mediated("t") };
    let table = [
        ("1. missing key", &world.node, keyless, "ERROR"),
        ("2. no executor", &bare, mediated("t"), "TOOL_CALL ERROR"),
        ("2. none for this tool", &world.node, unlisted, "TOOL_CALL ERROR"),
        ("3. executor error", &world.node, mediated("t"), "TOOL_CALL ERROR"),
    ];
    world.tools.fail(1);
    for (row, node, call, effects) in table {
        let session = world.session().await;
        world.harness.does([Step::call(call)]);
        let (_, failure) = node.api().await.exec(super::world::turn(&session)).await;
        assert_eq!(failure.unwrap().code(), Internal, "{row}");
        assert_eq!(world.words(&session).await, format!("START INPUT {effects}"), "{row}");
    }
}

/// §5.3 rule 4
#[tokio::test]
async fn a_fork_child_is_another_namespace_of_keys() {
    let world = World::new().await;
    let session = world.session().await;
    let call = [Step::call(mediated("t"))];
    world.run(&session, call.clone()).await;
    let child = world.child(&session, 1).await;
    world.run(&child, call).await;
    assert_eq!(world.tools.calls(), [(session, "key-t".to_owned()), (child, "key-t".to_owned())]);
    assert_eq!(world.tools.effects(), 2);
}

/// §5.3 rules 5 and 6
#[tokio::test]
async fn reports_and_calls_that_pass_themselves_off_as_others() {
    let world = World::new().await;
    let denied = ToolResult { code: Status::ApprovalDenied.into(), ..result("r") };
    let sequences = [receipt("r", 1, 0), receipt("r", 0, 1)].map(|report| ("5. approval sequence", report));
    for (row, report) in [("5. APPROVAL_DENIED", denied)].into_iter().chain(sequences) {
        let session = world.session().await;
        assert_eq!(world.run(&session, [Step::report(report)]).await.code, FailedPrecondition, "{row}");
        assert_eq!(world.words(&session).await, "START INPUT ERROR", "{row}");
    }

    let table = [
        ("5. a report of a gated call seals the turn", Step::report(result("g")), "TOOL_RESULT"),
        ("6. an ordinary call with the id of a gated one", Step::call(mediated("g")), "TOOL_RESULT ERROR"),
    ];
    for (row, step, effects) in table {
        let session = world.gated().await;
        world.approve(&session, false).await;
        world.harness.does([Step::gate("g"), step]);
        assert_eq!(world.resume(&session).await, FailedPrecondition, "{row}");
        let expected = format!("START TOOL_CALL APPROVAL_REQUEST APPROVAL_RESULT {effects}");
        assert_eq!(world.words(&session).await, expected, "{row}");
    }
    assert!(world.tools.calls().is_empty());
}

/// §5.3 rule 7: each member of a call's identity, against the recorded call
#[tokio::test]
async fn the_identity_of_a_call() {
    let world = World::new().await;
    let args = |number: f64| {
        let kind = Some(wire::protobuf::value::Kind::NumberValue(number));
        Some(wire::protobuf::Struct { fields: [("n".to_owned(), wire::protobuf::Value { kind })].into() })
    };
    let recorded = ToolCall { args: args(1.0), ..mediated("t") };
    let table = [
        ("the same", recorded.clone(), Fine),
        ("id", ToolCall { id: "u".into(), ..recorded.clone() }, Internal),
        ("tool", ToolCall { tool: "other".into(), ..recorded.clone() }, Internal),
        ("mediation", ToolCall { args: args(1.0), ..gated("t") }, Internal),
        ("idempotency_key", ToolCall { idempotency_key: "other".into(), ..recorded.clone() }, Internal),
        ("args", ToolCall { args: args(2.0), ..recorded.clone() }, Internal),
    ];
    for (member, call, code) in table {
        let log = [super::world::started_on("scripted", "1"), support::records::Of("e1").call(recorded.clone())];
        let session = world.recorded(log).await;
        world.harness.does([Step::call(call)]);
        assert_eq!(world.resume(&session).await, code, "{member}");
    }
    assert_eq!(world.tools.calls().len(), 1);
}
