//! Mediated and reported tools (execution.md §5.3).

use super::*;
use wire::tool_result::Code;
use wire::{Mediation, ToolCall, ToolResult};

#[test]
fn a_mediated_call_is_recorded_run_recorded_and_answered() {
    let mut session = Session::started();
    assert_eq!(session.run(&[Ask::Tool("t")]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["TOOL_CALL", "TOOL_RESULT", "END"]);
    assert_eq!(session.events[2], Of("e1").tool_call(mediated("t")));
    assert_eq!(session.tool_calls["key-t"], 1);
    let expected = ToolResult { id: "t".into(), error: "as it is".into(), ..ToolResult::default() };
    assert_eq!(session.events[3], Of("e1").tool_result(expected.clone()));
    assert_eq!(session.frames, [HostFrame::Tool(expected)]);
}

#[test]
fn the_result_of_a_mediated_call_gets_the_id_of_the_call() {
    let executor = Executor::Answers(ToolResult { id: "other".into(), ..ToolResult::default() });
    let mut session = Session { executor, ..Session::started() };
    session.run(&[Ask::Tool("t")]);
    let Some(Body::Result(result)) = &session.events[3].body else { panic!("no TOOL_RESULT") };
    assert_eq!(result.id, "t");
}

#[test]
fn a_report_is_recorded_as_it_came_and_gets_no_reply() {
    let mut session = Session::started();
    let report = ToolResult { is_error: true, code: Code::ExecutorError.into(), ..result("r") };
    assert_eq!(session.run(&[raw_report(report.clone())]), TurnEnd::Completed);
    assert_eq!(session.events[2], Of("e1").tool_result(report));
    assert!(session.frames.is_empty());
}

#[test]
fn calls_that_are_refused_leave_only_an_error() {
    let with = |mediation: Mediation| ToolCall { mediation: mediation.into(), ..mediated("t") };
    let keyless = ToolCall { idempotency_key: String::new(), ..mediated("t") };
    let table = [
        (keyless, TurnFailure::MissingIdempotencyKey),
        (with(Mediation::Unspecified), TurnFailure::RefusedMediation("MEDIATION_UNSPECIFIED")),
        (with(Mediation::InHarnessReported), TurnFailure::RefusedMediation("MEDIATION_IN_HARNESS_REPORTED")),
    ];
    for (call, expected) in table {
        let mut session = Session::started();
        assert_eq!(failure(session.run(&[raw_call(call)])), expected);
        assert_eq!(effects(&session), ["ERROR"]);
        assert!(session.tool_calls.is_empty());
        assert!(!expected.is_precondition());
    }
}

#[test]
fn a_call_that_is_not_answered_stays_open() {
    let table = [
        (Executor::Missing, TurnFailure::NoToolExecutor("search".into())),
        (Executor::Fails, TurnFailure::Tool("unreachable".into())),
    ];
    for (executor, expected) in table {
        let mut session = Session { executor, ..Session::started() };
        assert_eq!(failure(session.run(&[Ask::Tool("t")])), expected);
        assert_eq!(effects(&session), ["TOOL_CALL", "ERROR"]);
        assert!(!expected.is_precondition());
    }
}

#[test]
fn a_report_that_looks_like_a_receipt_is_refused() {
    let reports = [
        ToolResult { code: Code::ApprovalDenied.into(), ..result("r") },
        ToolResult { approval_request_seq: 1, ..result("r") },
        ToolResult { approval_decision_seq: 1, ..result("r") },
    ];
    for report in reports {
        let mut session = Session::started();
        let failure = failure(session.run(&[raw_report(report)]));
        assert_eq!(failure, TurnFailure::ApprovalReceiptReport);
        assert!(failure.is_precondition());
        assert_eq!(effects(&session), ["ERROR"]);
    }
}

#[test]
fn ordinary_calls_may_share_an_id() {
    let mut session = Session::started();
    assert_eq!(session.run(&[Ask::Tool("t"), Ask::Tool("t")]), TurnEnd::Completed);
    assert_eq!(session.tool_calls["key-t"], 2);
}
