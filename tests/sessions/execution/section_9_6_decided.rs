//! Recovery of a gate that is decided and has no receipt (execution.md §9.6).

use serde_json::json;
use support::records::{Of, denial, receipt, result};
use support::{Step, TOOL};
use tonic::Code;
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::tool_result::Code as Status;
use wire::{ComputeState, Part, ToolResult};

use super::world::{World, event, gate, recovery};

/// A session whose turn `e1` was decided at the gate `g`, at 4.
async fn decided(world: &World, approved: bool) -> String {
    world.recorded([gate(), vec![Of("e1").decision("g", 3, approved)]].concat()).await
}

/// The TOOL_RESULT at 5.
async fn recorded_receipt(world: &World, session: &str) -> ToolResult {
    match &event(&world.log(session).await[4]).body {
        Some(Body::Result(receipt)) => receipt.clone(),
        other => panic!("no receipt: {other:?}"),
    }
}

const FINISHED: &str = "START TOOL_CALL APPROVAL_REQUEST APPROVAL_RESULT TOOL_RESULT END RESUME";

#[tokio::test]
async fn each_decision_and_answer_of_the_executor_has_its_receipt() {
    let world = World::new().await;
    world.harness.does([Step::gate("g")]);
    let failed = ToolResult { is_error: true, code: Status::ExecutorError.into(), ..receipt("g", 3, 4) };
    let unanswered =
        ToolResult { error: "server: it refused the call (http 500)".into(), content: vec![], ..failed.clone() };
    let own = ToolResult { error: "no funds".into(), content: vec![Part::text("sorry")], ..failed.clone() };
    let deep = (0..90).fold(json!({}), |inner, _| json!({ "a": inner }));
    let unrecordable = ToolResult {
        error: "its result cannot be recorded: messages are nested more than 80 deep".into(),
        content: vec![],
        ..failed.clone()
    };
    let rows = [
        ("executor returns success", true, json!({"content": "done"}), 0, receipt("g", 3, 4)),
        ("executor returns an error", true, json!({}), 1, unanswered),
        ("result has is_error", true, json!({"is_error": true, "error": "no funds", "content": "sorry"}), 0, own),
        ("executor returns what cannot be recorded", true, json!({ "output": deep }), 0, unrecordable),
        ("denied", false, json!({}), 0, denial("g", 3, 4)),
    ];
    for (row, approved, answer, failures, expected) in rows {
        let session = decided(&world, approved).await;
        let before = world.tools.calls().len();
        world.tools.answer(answer);
        world.tools.fail(failures);
        assert_eq!(world.resume(&session).await, Code::Ok, "{row}");
        assert_eq!(world.words(&session).await, FINISHED, "{row}");
        assert_eq!(recorded_receipt(&world, &session).await, expected, "{row}");
        let calls = world.tools.calls().split_off(before);
        let expected = if approved { vec![(session.clone(), "key-g".to_owned())] } else { vec![] };
        assert_eq!(calls, expected, "{row}: original key and session");
    }
}

#[tokio::test]
async fn approved_without_an_executor_is_a_precondition_and_the_decision_stays_usable() {
    let world = World::new().await;
    let bare = world.node_without_tools().await;
    let gate = |tool: &str| wire::ToolCall { tool: tool.into(), ..support::records::gated("g") };
    for (row, tool, node) in [("none at all", TOOL, &bare), ("none for this tool", "unlisted", &world.node)] {
        world.harness.does([Step::call(gate(tool))]);
        let call = Of("e1").call(gate(tool));
        let records = vec![
            super::world::started_on("scripted", "1"),
            call,
            Of("e1").request("g"),
            Of("e1").decision("g", 3, true),
        ];
        let session = world.recorded(records).await;
        for _ in 0..2 {
            let status = node.api().await.resume(&session).await.unwrap_err();
            assert_eq!(status.code(), Code::FailedPrecondition, "{row}: {}", status.message());
            assert!(status.message().contains(tool), "{row}: {}", status.message());
            let words = world.words(&session).await;
            assert_eq!(words, "START TOOL_CALL APPROVAL_REQUEST APPROVAL_RESULT", "{row}");
        }
        let (_, failure) = node.api().await.exec(recovery(&session)).await;
        assert_eq!(failure.unwrap().code(), Code::FailedPrecondition, "{row}");
        assert!(world.tools.calls().iter().all(|(called, _)| *called != session), "{row}");
        if tool == TOOL {
            assert_eq!(world.resume(&session).await, Code::Ok, "a node with an executor uses the decision");
            assert_eq!(world.words(&session).await, FINISHED);
        }
    }
}

#[tokio::test]
async fn the_receipt_is_recorded_before_the_harness_is_told_approval_then_tool() {
    let world = World::new().await;
    world.harness.does([Step::gate("g"), Step::Wait]);
    let session = decided(&world, true).await;
    let mut api = world.api();
    let resumed = async { api.resume(&session).await.unwrap() };
    let looked = async {
        world.harness.waiting().await;
        assert_eq!(world.words(&session).await, "START TOOL_CALL APPROVAL_REQUEST APPROVAL_RESULT TOOL_RESULT");
        world.harness.release();
    };
    let (resumed, ()) = tokio::join!(resumed, looked);
    assert_eq!(resumed.compute_state(), ComputeState::ComputeLive);
    let frames: Vec<_> = world.harness.runs().remove(0).into_iter().filter_map(|frame| frame.frame).collect();
    let [Frame::Start(_), Frame::Approval(decision), Frame::Tool(receipt)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((decision.tool_call_id.as_str(), decision.request_seq, decision.approved), ("g", 3, true));
    assert_eq!((receipt.id.as_str(), receipt.approval_request_seq, receipt.approval_decision_seq), ("g", 3, 4));
}

#[tokio::test]
async fn a_receipt_that_was_not_recorded_is_made_again_with_the_same_key() {
    let world = World::new().await;
    world.harness.does([Step::gate("g")]);
    let session = decided(&world, true).await;
    // A fence, then the receipt: the process dies after the executor ran.
    let dying = world.builder.clone().failpoint(support::Failpoint::BeforeCommit(2)).start().await;
    dying.api().await.resume(&session).await.unwrap_err();
    assert_eq!(world.resume(&session).await, Code::Ok);
    assert_eq!(world.words(&session).await, FINISHED);
    assert_eq!(world.tools.calls(), vec![(session, "key-g".to_owned()); 2]);
    assert_eq!(world.tools.effects(), 1);
}

#[tokio::test]
async fn what_follows_is_an_end_or_another_park() {
    let world = World::new().await;
    world.harness.does([Step::gate("g"), Step::report(result("r")), Step::gate("h")]);
    let session = decided(&world, true).await;
    let parked = world.api().resume(&session).await.unwrap();
    let gate = parked.pending_approval.unwrap();
    assert_eq!((gate.tool_call_id.as_str(), gate.request_seq), ("h", 8));
    let expected =
        "START TOOL_CALL APPROVAL_REQUEST APPROVAL_RESULT TOOL_RESULT TOOL_RESULT TOOL_CALL APPROVAL_REQUEST SUSPEND";
    assert_eq!(world.words(&session).await, expected, "no RESUME");
}

#[tokio::test]
async fn exec_without_inputs_recovers_as_resume_does() {
    let world = World::new().await;
    world.harness.does([Step::gate("g")]);
    let session = decided(&world, false).await;
    let executed = world.exec(recovery(&session)).await;
    assert_eq!((executed.code, executed.frames.as_str()), (Code::Ok, "Session TOOL_RESULT END RESUME Session"));
    assert_eq!(world.words(&session).await, FINISHED);
}
