//! Resume of interrupted turns (execution.md §7.1, §7.3).

use super::*;
use crate::log::ResumeStep;
use crate::turn::{Effect, Recording};
use wire::{ToolCall, ToolResult};

/// The session after the script ran, cut to its first `len` records.
fn cut(asks: &[Ask], len: usize) -> Session {
    let mut session = Session::started();
    session.run(asks);
    session.cut(len)
}

#[test]
fn a_turn_cut_after_its_inputs_is_run_live() {
    let mut session = Session::started();
    assert_eq!(session.resume(&[Ask::Model]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["MODEL_CALL", "OUTPUT", "END", "LIFECYCLE"]);
    assert_eq!(session.model_calls, 1);
}

#[test]
fn a_recovered_turn_ends_with_end_and_resume() {
    let mut session = Session::started();
    session.resume(&[]);
    let resume = lifecycle(wire::lifecycle::Kind::LifecycleResume);
    assert_eq!(session.events[2..], [Of("e1").end(), resume]);
}

#[test]
fn end_and_resume_are_one_append() {
    let mut session = Session { refuse: Some((4, Refusal::Failed("disk full".into()))), ..Session::started() };
    session.resume(&[]);
    assert_eq!(effects(&session), ["ERROR"]);
}

#[test]
fn a_model_call_without_output_is_made_once_and_not_recorded_again() {
    let mut session = cut(&[Ask::Model], 3);
    assert_eq!(session.resume(&[Ask::Model]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["MODEL_CALL", "OUTPUT", "END", "LIFECYCLE"]);
    assert_eq!(session.model_calls, 1);
}

#[test]
fn another_model_call_than_the_recorded_one_diverges_without_a_call() {
    let mut session = cut(&[Ask::Model], 3);
    let other = raw(EventKind::EventModelCall, Body::Model(request(&["other".into()])));
    assert_eq!(session.resume(&[other]), diverged(Divergence::Content(Asked::Model)));
    assert_eq!(effects(&session), ["MODEL_CALL", "ERROR"]);
    assert_eq!(session.model_calls, 0);
}

#[test]
fn a_recorded_completion_is_served_and_no_call_is_made() {
    let mut session = cut(&[Ask::Model], 4);
    assert_eq!(session.resume(&[Ask::Model]), TurnEnd::Completed);
    assert_eq!(session.model_calls, 0);
    let [HostFrame::Model(reply)] = &session.frames[..] else { panic!("no reply") };
    assert_eq!(reply.message.clone().unwrap().text_content(), "answer to hello");
}

#[test]
fn reasoning_is_served_as_it_was_recorded() {
    let opaque = wire::reasoning_part::Opaque::OpaqueBytes(vec![0, 255, 7]);
    let reasoning = wire::ReasoningPart { opaque: Some(opaque), ordinal: 2, ..Default::default() };
    let message = Message { role: "assistant".into(), parts: vec![part::Part::Reasoning(reasoning).into()] };
    let mut session = cut(&[Ask::Model], 3);
    session.events.push(Of("e1").event(EventKind::EventOutput, Body::Message(message.clone())));
    session.resume(&[Ask::Model]);
    let [HostFrame::Model(reply)] = &session.frames[..] else { panic!("no reply") };
    assert_eq!(reply.message, Some(message));
}

#[test]
fn a_tool_call_without_result_is_run_once_with_the_recorded_key() {
    let mut session = cut(&[Ask::Tool("t")], 3);
    assert_eq!(session.resume(&[Ask::Tool("t")]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["TOOL_CALL", "TOOL_RESULT", "END", "LIFECYCLE"]);
    assert_eq!(session.tool_calls, [("key-t".to_owned(), 1)].into());
}

#[test]
fn a_recorded_tool_result_is_served_and_the_tool_is_not_run() {
    let mut session = cut(&[Ask::Tool("t")], 4);
    assert_eq!(session.resume(&[Ask::Tool("t")]), TurnEnd::Completed);
    assert!(session.tool_calls.is_empty());
    assert_eq!(session.frames.len(), 1);
}

#[test]
fn errors_are_no_effects() {
    let mut session = cut(&[Ask::Model, Ask::Tool("t")], 3);
    session.events.insert(2, Of("e1").error());
    session.events.push(Of("e1").error());
    assert_eq!(session.resume(&[Ask::Model, Ask::Tool("t")]), TurnEnd::Completed);
    assert_eq!(session.model_calls, 1);
}

#[test]
fn a_failed_recovery_leaves_another_error_and_the_turn_recoverable() {
    let mut session = Session { model_fails: true, ..cut(&[Ask::Model], 3) };
    for _ in 0..2 {
        session.resume(&[Ask::Model]);
    }
    assert_eq!(effects(&session), ["MODEL_CALL", "ERROR", "ERROR"]);
    session.model_fails = false;
    assert_eq!(session.resume(&[Ask::Model]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["MODEL_CALL", "ERROR", "ERROR", "OUTPUT", "END", "LIFECYCLE"]);
}

#[test]
fn a_finished_turn_is_not_pending() {
    let mut session = Session::started();
    session.run(&[Ask::Model]);
    assert_eq!(session.resume_step(), ResumeStep::NothingPending);
}

/// Recorded effects, what the re-run harness asks for, and how they differ.
fn mismatches() -> Vec<(Vec<Ask>, Ask, Divergence)> {
    let other_args = ToolCall { args: Some(args("other")), ..mediated("t") };
    let other_key = ToolCall { idempotency_key: "other".into(), ..mediated("t") };
    let other_tool = ToolCall { tool: "other".into(), ..mediated("t") };
    let no_args = ToolCall { args: None, ..mediated("t") };
    vec![
        (vec![Ask::Output], Ask::Model, Divergence::Kind(Asked::Model)),
        (vec![Ask::Usage(1)], Ask::Output, Divergence::Kind(Asked::Output)),
        (vec![Ask::Model], Ask::Output, Divergence::Kind(Asked::Output)),
        (vec![Ask::Output], Ask::Usage(1), Divergence::Kind(Asked::Usage)),
        (vec![Ask::Usage(1)], Ask::Usage(2), Divergence::Content(Asked::Usage)),
        (vec![Ask::Output], Ask::Tool("t"), Divergence::Kind(Asked::Tool)),
        (vec![Ask::Output], Ask::Report("r"), Divergence::Kind(Asked::Report)),
        (vec![Ask::Output], Ask::Gate("g"), Divergence::Kind(Asked::Gate)),
        (vec![Ask::Tool("t")], Ask::Gate("t"), Divergence::Content(Asked::Gate)),
        (vec![Ask::Tool("t")], Ask::Tool("u"), Divergence::Content(Asked::Tool)),
        (vec![Ask::Tool("t")], raw_call(other_args), Divergence::Content(Asked::Tool)),
        (vec![Ask::Tool("t")], raw_call(other_key), Divergence::Content(Asked::Tool)),
        (vec![Ask::Tool("t")], raw_call(other_tool), Divergence::Content(Asked::Tool)),
        (vec![Ask::Tool("t")], raw_call(no_args), Divergence::Content(Asked::Tool)),
        (vec![Ask::Output, Ask::Usage(1)], Ask::Output, Divergence::LeftOver),
    ]
}

#[test]
fn what_differs_from_the_record_diverges_and_nothing_live_follows() {
    for (recorded, asked, divergence) in mismatches() {
        let mut session = Session::started();
        session.run(&recorded);
        let mut session = session.cut(session.events.len() - 1);
        let before = session.events.len();
        assert_eq!(session.resume(std::slice::from_ref(&asked)), diverged(divergence), "{recorded:?} {asked:?}");
        assert_eq!(kinds(&session.events[before..]), ["ERROR"]);
        assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    }
}

#[test]
fn output_of_other_text_diverges() {
    let mut session = cut(&[Ask::Output], 3);
    let other = raw(EventKind::EventOutput, Body::Message(Message::text("assistant", "other")));
    assert_eq!(session.resume(&[other]), diverged(Divergence::Content(Asked::Output)));
}

#[test]
fn the_content_of_a_report_is_not_compared() {
    let mut session = cut(&[Ask::Report("r")], 3);
    assert_eq!(session.resume(&[Ask::Report("other")]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["TOOL_RESULT", "END", "LIFECYCLE"]);
}

#[test]
fn a_recorded_call_that_was_not_answered_fails_the_same_way() {
    let output = || Of("e1").output("sorry");
    let model = cut(&[Ask::Model], 3).events;
    let tool = cut(&[Ask::Tool("t")], 3).events;
    let usage = Of("e1").usage(1);
    let table = [
        ([model, vec![usage]].concat(), Ask::Model, TurnFailure::CompletionMissing),
        ([tool.clone(), vec![output()]].concat(), Ask::Tool("t"), TurnFailure::ResultMissing),
        (
            [tool, vec![Of("e1").tool_result(result("u"))]].concat(),
            Ask::Tool("t"),
            TurnFailure::Diverged(Divergence::Content(Asked::Tool)),
        ),
    ];
    for (events, ask, expected) in table {
        let mut session = Session::new(events);
        assert_eq!(failure(session.resume(&[ask])), expected);
        assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    }
}

#[test]
fn a_call_that_is_refused_live_is_refused_the_same_way_unless_it_hides_a_recorded_one() {
    let keyless = || raw_call(ToolCall { idempotency_key: String::new(), ..mediated("t") });
    let unmediated = |id| raw_call(ToolCall { mediation: 0, ..mediated(id) });
    let refused = TurnFailure::RefusedMediation("MEDIATION_UNSPECIFIED");
    let compared = TurnFailure::Diverged(Divergence::Content(Asked::Tool));
    let gate = Of("e1").tool_call(gated("t"));
    let call = Of("e1").tool_call(mediated("t"));
    let table = [
        (Of("e1").output("x"), keyless(), TurnFailure::MissingIdempotencyKey),
        (call.clone(), keyless(), TurnFailure::MissingIdempotencyKey),
        (gate.clone(), keyless(), compared.clone()),
        (Of("e1").output("x"), unmediated("t"), refused.clone()),
        (call.clone(), unmediated("u"), refused),
        (call, unmediated("t"), compared.clone()),
        (gate, unmediated("u"), compared),
    ];
    for (recorded, ask, expected) in table {
        assert_eq!(failure(recover_from(&recorded, &ask)), expected, "{recorded:?} {ask:?}");
    }
}

/// The end of a recovery of a turn with one recorded effect.
fn recover_from(recorded: &Event, ask: &Ask) -> TurnEnd {
    let mut recording = Recording::default();
    recording.push(Effect::read(seq(3), recorded).unwrap().unwrap());
    let turn = Turn::recover(ExecutionId::new("e1"), recording, Resumability::StatelessReplay);
    Session::started().drive(turn, Script::new("e1", &[], std::slice::from_ref(ask)))
}

#[test]
fn a_report_does_not_stand_for_a_receipt() {
    let receipt = Of("e1").tool_result(receipt("g", 1, 2));
    assert_eq!(recover_from(&receipt, &Ask::Report("r")), diverged(Divergence::Content(Asked::Report)));
}

#[test]
fn a_reported_receipt_is_refused_before_it_is_matched() {
    let mut session = cut(&[Ask::Report("r")], 3);
    let report = ToolResult { approval_request_seq: 1, ..result("r") };
    assert_eq!(failure(session.resume(&[raw_report(report)])), TurnFailure::ApprovalReceiptReport);
}
