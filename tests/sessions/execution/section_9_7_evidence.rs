//! The evidence scan (execution.md §9.7): a log for each rule, told by Exec, Resume, Suspend and Approve.

use support::records::{Of, denial, gated, marker, mediated, question, receipt, result, usage};
use tonic::Code::{self, FailedPrecondition, Internal, Ok as Fine};
use wire::lifecycle::Kind;
use wire::tool_result::Code as Status;
use wire::{Event, ToolCall, ToolResult};

use super::world::{World, gate, recovery, started_on};

/// A gate decided at 4 and answered at 5.
fn answered(approved: bool, receipt: ToolResult) -> Vec<Event> {
    [gate(), vec![Of("e1").decision("g", 3, approved), Of("e1").result(receipt)]].concat()
}

fn and(log: Vec<Event>, more: impl IntoIterator<Item = Event>) -> Vec<Event> {
    log.into_iter().chain(more).collect()
}

/// What Exec without inputs, Resume, Suspend and Approve say of a log whose evidence is broken.
async fn told(world: &World, log: &[Event]) -> [Code; 4] {
    let session = || world.recorded(log);
    [
        world.exec(recovery(&session().await)).await.code,
        world.resume(&session().await).await,
        world.suspend(&session().await).await,
        world.approve(&session().await, true).await,
    ]
}

const INVALID: [Code; 4] = [FailedPrecondition; 4];
const DIVERGED: [Code; 4] = [Internal, Internal, FailedPrecondition, FailedPrecondition];

#[tokio::test]
async fn rules() {
    let world = World::new().await;
    let (e1, old) = (Of("e1"), Of(""));
    let open = || vec![started_on("scripted", "1"), e1.call(gated("g"))];
    let done = || answered(true, receipt("g", 3, 4));
    let keyless = ToolCall { idempotency_key: String::new(), ..gated("g") };
    let nameless = ToolCall { id: String::new(), ..gated("g") };
    let no_body = |kind| e1.event(kind, None);
    use wire::EventKind::{
        EventApprovalRequest, EventApprovalResult, EventExecutionStart, EventToolCall, EventToolResult,
    };
    let table = [
        ("group without execution id", vec![old.input("a"), old.result(receipt("g", 1, 1))], INVALID),
        ("START not first", and(done(), [e1.start(0)]), INVALID),
        ("START without payload", and(vec![no_body(EventExecutionStart)], gate()[1..].to_vec()), INVALID),
        ("INPUT while open", and(gate(), [e1.input("a")]), INVALID),
        ("MODEL_CALL while open", and(gate(), [e1.model_call(&question("a"))]), INVALID),
        ("OUTPUT while open", and(gate(), [e1.output("a")]), INVALID),
        ("USAGE while open", and(gate(), [e1.usage(usage(1))]), INVALID),
        ("END while open", and(gate(), [e1.end()]), INVALID),
        ("TOOL_CALL while open", and(gate(), [e1.call(mediated("t"))]), INVALID),
        ("TOOL_CALL without payload", and(done(), [no_body(EventToolCall)]), INVALID),
        ("TOOL_CALL, gated id used before", and(done(), [e1.call(gated("g"))]), INVALID),
        (
            "TOOL_CALL, gated id used by an ordinary call",
            vec![started_on("scripted", "1"), e1.call(mediated("g")), e1.result(result("g")), e1.call(gated("g"))],
            INVALID,
        ),
        ("TOOL_CALL, ordinary id used by a gated one", and(done(), [e1.call(mediated("g"))]), INVALID),
        ("TOOL_CALL, gated after END", and(done(), [e1.end(), e1.call(gated("h"))]), INVALID),
        ("TOOL_CALL, gated without id", vec![e1.call(nameless)], INVALID),
        ("TOOL_CALL, gated without key", vec![e1.call(keyless)], INVALID),
        ("APPROVAL_REQUEST without payload", and(open(), [no_body(EventApprovalRequest)]), INVALID),
        ("APPROVAL_REQUEST while not open", vec![started_on("scripted", "1"), e1.request("g")], INVALID),
        ("APPROVAL_REQUEST twice", and(gate(), [e1.request("g")]), INVALID),
        ("APPROVAL_REQUEST, another call", and(open(), [e1.request("h")]), DIVERGED),
        ("APPROVAL_RESULT without payload", and(gate(), [no_body(EventApprovalResult)]), INVALID),
        ("APPROVAL_RESULT while not open", and(done(), [e1.decision("g", 3, true)]), INVALID),
        ("APPROVAL_RESULT without request", and(open(), [e1.decision("g", 3, true)]), INVALID),
        ("APPROVAL_RESULT twice", and(gate(), [e1.decision("g", 3, true), e1.decision("g", 3, true)]), INVALID),
        ("APPROVAL_RESULT, another call", and(gate(), [e1.decision("h", 3, true)]), DIVERGED),
        ("APPROVAL_RESULT, another request", and(gate(), [e1.decision("g", 2, true)]), DIVERGED),
        (
            "TOOL_RESULT while open, no payload",
            and(gate(), [e1.decision("g", 3, true), no_body(EventToolResult)]),
            INVALID,
        ),
        ("TOOL_RESULT while open, no decision", and(gate(), [e1.result(receipt("g", 3, 4))]), INVALID),
        ("TOOL_RESULT while open, another id", answered(true, receipt("h", 3, 4)), DIVERGED),
        ("TOOL_RESULT while open, another request", answered(true, receipt("g", 2, 4)), DIVERGED),
        ("TOOL_RESULT while open, another decision", answered(true, receipt("g", 3, 3)), DIVERGED),
        ("TOOL_RESULT while not open, a gated id", and(done(), [e1.result(result("g"))]), INVALID),
        ("TOOL_RESULT while not open, approval sequences", and(done(), [e1.result(receipt("t", 3, 4))]), INVALID),
        ("end of group, inputs cut short", vec![e1.start(1), e1.call(gated("g")), e1.request("g")], INVALID),
    ];
    for (row, log, expected) in table {
        assert_eq!(told(&world, &log).await, expected, "{row}");
    }
}

/// What the scan allows or does not look at: Suspend goes through.
#[tokio::test]
async fn what_is_no_broken_evidence() {
    let world = World::new().await;
    let e1 = Of("e1");
    let done = || answered(true, receipt("g", 3, 4));
    let table = [
        ("ERROR is always allowed", and(gate(), [e1.error(), e1.decision("g", 3, true), e1.error()])),
        ("LIFECYCLE is skipped", and(gate(), [marker(Kind::LifecycleSuspend), e1.decision("g", 3, true)])),
        ("an ordinary result while not open", and(done(), [e1.result(result("t"))])),
        ("another gate after the receipt", and(done(), [e1.call(gated("h"))])),
        ("a group without approvals is not looked at", vec![e1.start(5), e1.start(5), e1.end(), Of("e2").start(0)]),
    ];
    for (row, log) in table {
        assert_eq!(world.suspend(&world.recorded(log).await).await, Fine, "{row}");
    }
}

/// Every approval-bearing group is checked, not only the last.
#[tokio::test]
async fn an_older_group_is_checked_too_and_the_first_seen_order_decides() {
    let world = World::new().await;
    let malformed = || and(gate(), [Of("e1").request("g")]);
    assert_eq!(told(&world, &and(malformed(), [Of("e2").start(0), Of("e2").end()])).await, INVALID);
    let diverged = [Of("e2").start(0), Of("e2").call(gated("g")), Of("e2").request("h")];
    assert_eq!(told(&world, &and(malformed(), diverged)).await, INVALID, "the first in order of appearance");
}

#[tokio::test]
async fn the_status_of_a_receipt_fits_its_decision() {
    let world = World::new().await;
    let with = |is_error, code: Status| ToolResult { is_error, code: code.into(), ..receipt("g", 3, 4) };
    let table = [
        ("denied, as it should be", false, denial("g", 3, 4), true),
        ("denied, no error", false, with(false, Status::ApprovalDenied), false),
        ("denied, another code", false, with(true, Status::ExecutorError), false),
        ("denied, run", false, receipt("g", 3, 4), false),
        ("approved, well", true, receipt("g", 3, 4), true),
        ("approved, failed", true, with(true, Status::ExecutorError), true),
        ("approved, denied", true, denial("g", 3, 4), false),
        ("approved, well with a code", true, with(false, Status::ExecutorError), false),
        ("approved, error without code", true, with(true, Status::Unspecified), false),
    ];
    for (row, approved, receipt, fits) in table {
        let session = world.recorded(answered(approved, receipt)).await;
        assert_eq!(world.suspend(&session).await, if fits { Fine } else { FailedPrecondition }, "{row}");
    }
}

/// The selected gate is the last one of the last first-seen execution; under an ordinary one there is none.
#[tokio::test]
async fn a_superseded_gate_is_not_selected() {
    let world = World::new().await;
    world.harness.does([]);
    let session = world.recorded(and(gate(), [Of("e2").start(0), Of("e2").end()])).await;
    assert_eq!(world.get(&session).await.pending_approval, None);
    assert_eq!(world.approve(&session, true).await, FailedPrecondition);
    assert_eq!(world.exec(super::world::turn(&session)).await.code, Fine);
}
