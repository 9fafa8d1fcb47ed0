//! Approvals (execution.md §9.1, §9.2, §9.6).

use super::*;
use crate::log::ResumeStep;
use wire::tool_result::Code;
use wire::{ApprovalRef, ToolCall, ToolResult};

fn reference() -> ApprovalRef {
    ApprovalRef { execution_id: "e1".into(), tool_call_id: "g".into(), request_seq: 4 }
}

/// A turn that parked at the gate `g` and was decided.
fn decided(approved: bool) -> Session {
    let mut session = Session::started();
    assert_eq!(session.run(&[Ask::Gate("g")]), TurnEnd::Parked(reference()));
    session.events.push(Of("e1").decision("g", 4, approved));
    session.cut(5)
}

#[test]
fn a_gated_call_is_recorded_with_its_request_and_parks() {
    let mut session = Session { executor: Executor::Missing, ..Session::started() };
    assert_eq!(session.run(&[Ask::Gate("g"), Ask::Model]), TurnEnd::Parked(reference()));
    assert_eq!(session.events[2..], [Of("e1").tool_call(gated("g")), Of("e1").request("g")]);
    assert_eq!(session.frames, [HostFrame::Park(reference())]);
    assert_eq!(session.resume_step(), ResumeStep::AwaitDecision(reference()));
}

#[test]
fn gates_that_must_not_open_leave_only_an_error() {
    let keyless = ToolCall { idempotency_key: String::new(), ..gated("g") };
    let nameless = ToolCall { id: String::new(), ..gated("g") };
    let table = [
        (vec![raw_call(keyless)], false),
        (vec![raw_call(nameless)], true),
        (vec![Ask::Tool("g"), Ask::Gate("g")], true),
    ];
    for (asks, precondition) in table {
        let mut session = Session::started();
        let failure = failure(session.run(&asks));
        assert_eq!(failure.is_precondition(), precondition, "{failure}");
        assert_eq!(session.events.last().unwrap().kind(), EventKind::EventError);
        assert!(!kinds(&session.events).contains(&"APPROVAL_REQUEST"));
    }
}

#[test]
fn a_harness_that_lives_in_memory_opens_no_gate() {
    let mut session = Session { resumability: Resumability::RequiresMemorySnapshot, ..Session::started() };
    let failure = failure(session.run(&[Ask::Gate("g")]));
    assert_eq!(failure, TurnFailure::ApprovalUnavailable);
    assert!(failure.is_precondition());
    assert_eq!(effects(&session), ["ERROR"]);
}

#[test]
fn a_gate_that_was_not_recorded_fails_the_turn_as_any_append_does() {
    let unrecordable = Refusal::Unrecordable("NaN".into());
    let mut session = Session { refuse: Some((4, unrecordable)), ..Session::started() };
    assert!(matches!(failure(session.run(&[Ask::Gate("g")])), TurnFailure::Unrecordable(_)));
    assert_eq!(effects(&session), ["ERROR"]);
}

/// Drives a turn to where the harness was told to park.
fn parking() -> Turn {
    let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
    turn.start();
    turn.on(Input::Event { event: Of("e1").tool_call(gated("g")), fresh_id: String::new() });
    assert_eq!(turn.on(Input::Appended(seq(3))), Action::Send(HostFrame::Park(reference())));
    assert_eq!(turn.on(Input::Sent), Action::ReadParked);
    turn
}

fn event(event: Event) -> Input {
    Input::Event { event, fresh_id: String::new() }
}

fn acknowledgement(execution: &str, reference: ApprovalRef) -> Input {
    event(Of(execution).event(EventKind::EventParked, Body::Parked(reference)))
}

#[test]
fn a_harness_that_does_not_park_as_told_fails_the_turn_without_a_record() {
    let other = ApprovalRef { request_seq: 5, ..reference() };
    let inputs = [
        Input::Closed,
        Input::HarnessFailed("timed out".into()),
        Input::Interrupted(Interruption::Deadline),
        acknowledgement("e1", other),
        acknowledgement("e2", reference()),
        event(Of("e1").event(EventKind::EventParked, None)),
        event(Of("e1").end()),
        event(Of("e1").output("x")),
    ];
    for input in inputs {
        let description = format!("{input:?}");
        let end = parking().on(input);
        assert!(matches!(end, Action::Finish(TurnEnd::Failed(_))), "{description}: {end:?}");
    }
}

#[test]
fn a_harness_that_goes_on_after_parking_fails_the_turn_without_a_record() {
    let inputs = [
        event(Of("e1").end()),
        acknowledgement("e1", reference()),
        Input::HarnessFailed("reset".into()),
        Input::Interrupted(Interruption::Shutdown),
    ];
    for input in inputs {
        let description = format!("{input:?}");
        let mut turn = parking();
        assert_eq!(turn.on(acknowledgement("e1", reference())), Action::ReadParked);
        let end = turn.on(input);
        assert!(matches!(end, Action::Finish(TurnEnd::Failed(_))), "{description}: {end:?}");
    }
}

#[test]
fn an_approved_call_is_run_once_and_its_receipt_names_the_decision() {
    let mut session = decided(true);
    assert_eq!(session.resume(&[Ask::Gate("g")]), TurnEnd::Completed);
    assert_eq!(kinds(&session.events[5..]), ["TOOL_RESULT", "END", "LIFECYCLE"]);
    assert_eq!(session.tool_calls, [("key-g".to_owned(), 1)].into());
    let expected = ToolResult { output: None, error: "as it is".into(), ..receipt("g", 4, 5) };
    assert_eq!(session.events[5], Of("e1").tool_result(expected.clone()));
    let [HostFrame::Approval(decision), HostFrame::Tool(reply)] = &session.frames[..] else { panic!("no replies") };
    assert_eq!((decision.tool_call_id.as_str(), decision.request_seq, decision.approved), ("g", 4, true));
    assert_eq!(*reply, expected);
    assert!(session.log().check_approvals().is_ok());
}

#[test]
fn a_denied_call_is_not_run_and_the_turn_goes_on() {
    let mut session = decided(false);
    assert_eq!(session.resume(&[Ask::Gate("g"), Ask::Model]), TurnEnd::Completed);
    assert!(session.tool_calls.is_empty());
    assert_eq!(session.events[5], Of("e1").tool_result(denial("g", 4, 5)));
    assert_eq!(session.model_calls, 1);
    assert!(session.log().check_approvals().is_ok());
}

#[test]
fn what_happens_to_an_approved_tool_is_told_in_its_receipt() {
    let own_error = ToolResult { is_error: true, error: "own".into(), output_uri: "u".into(), ..Default::default() };
    let odd_code = ToolResult { code: Code::ApprovalDenied.into(), ..ToolResult::default() };
    let table = [
        (Executor::Fails, Code::ExecutorError, true, "unreachable"),
        (Executor::Answers(own_error), Code::ExecutorError, true, "own"),
        (Executor::Answers(odd_code), Code::Unspecified, false, ""),
    ];
    for (executor, code, is_error, error) in table {
        let mut session = Session { executor, ..decided(true) };
        assert_eq!(session.resume(&[Ask::Gate("g")]), TurnEnd::Completed);
        let Some(Body::Result(receipt)) = &session.events[5].body else { panic!("no receipt") };
        assert_eq!((receipt.code(), receipt.is_error, receipt.error.as_str()), (code, is_error, error));
        assert!(session.log().check_approvals().is_ok());
    }
}

#[test]
fn an_approved_call_without_executor_leaves_the_decision_usable() {
    let mut session = Session { executor: Executor::Missing, ..decided(true) };
    let failure = failure(session.resume(&[Ask::Gate("g")]));
    assert_eq!(failure, TurnFailure::NoExecutorForApproved("search".into()));
    assert!(failure.is_precondition());
    assert_eq!(session.events.len(), 5);
    session.executor = Executor::Fails;
    assert_eq!(session.resume(&[Ask::Gate("g")]), TurnEnd::Completed);
}

#[test]
fn a_receipt_that_was_not_recorded_is_made_again_with_the_same_key() {
    let lost = Refusal::Lost(LostWriter::Fenced);
    let mut session = Session { refuse: Some((6, lost)), ..decided(true) };
    assert_eq!(session.resume(&[Ask::Gate("g")]), TurnEnd::Lost(LostWriter::Fenced));
    assert_eq!(session.resume(&[Ask::Gate("g")]), TurnEnd::Completed);
    assert_eq!(session.tool_calls["key-g"], 2);
}

#[test]
fn a_recorded_receipt_is_served_after_its_decision() {
    let mut session = decided(true);
    session.resume(&[Ask::Gate("g")]);
    let mut session = session.cut(6);
    assert_eq!(session.resume(&[Ask::Gate("g")]), TurnEnd::Completed);
    assert!(session.tool_calls.is_empty());
    assert!(matches!(session.frames[..], [HostFrame::Approval(_), HostFrame::Tool(_)]));
}

#[test]
fn another_call_than_the_decided_one_diverges_and_is_not_run() {
    let mut session = decided(true);
    let other = ToolCall { args: Some(args("other")), ..gated("g") };
    assert_eq!(session.resume(&[raw_call(other)]), diverged(Divergence::Content(Asked::Gate)));
    assert!(session.tool_calls.is_empty());
}

#[test]
fn a_recovered_turn_may_park_at_another_gate() {
    let mut session = decided(true);
    let end = session.resume(&[Ask::Gate("g"), Ask::Gate("h")]);
    assert_eq!(end, TurnEnd::Parked(ApprovalRef { tool_call_id: "h".into(), request_seq: 8, ..reference() }));
    assert_eq!(kinds(&session.events[5..]), ["TOOL_RESULT", "TOOL_CALL", "APPROVAL_REQUEST"]);
}

#[test]
fn the_id_of_a_gated_call_is_not_used_again() {
    for again in [Ask::Gate("g"), Ask::Tool("g")] {
        let mut session = decided(true);
        let failure = failure(session.resume(&[Ask::Gate("g"), again]));
        assert!(matches!(failure, TurnFailure::InvalidApprovalCall(_)), "{failure}");
        assert_eq!(kinds(&session.events[5..]), ["TOOL_RESULT", "ERROR"]);
    }
}

#[test]
fn a_report_of_a_gated_call_seals_the_turn() {
    let mut session = decided(true);
    let failure = failure(session.resume(&[Ask::Gate("g"), Ask::Report("g")]));
    assert_eq!(failure, TurnFailure::ApprovalReceiptReport);
    assert_eq!(kinds(&session.events[5..]), ["TOOL_RESULT"]);
}

#[test]
fn a_report_of_a_gated_call_diverges_while_effects_are_left() {
    let mut session = decided(true);
    session.resume(&[Ask::Gate("g"), Ask::Report("r")]);
    let mut session = session.cut(7);
    let end = session.resume(&[Ask::Gate("g"), Ask::Report("g")]);
    assert_eq!(end, diverged(Divergence::Content(Asked::Report)));
}

#[test]
fn a_turn_with_a_gate_replays() {
    let asks = [Ask::Gate("g"), Ask::Model];
    for approved in [true, false] {
        let mut session = decided(approved);
        session.resume(&asks);
        let mut session = session.cut(session.events.len());
        assert_eq!(session.replay(&asks), TurnEnd::Completed);
        assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    }
}
