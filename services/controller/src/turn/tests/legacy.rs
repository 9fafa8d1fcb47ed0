//! Turns from before executions had ids (execution.md §8).

use super::*;
use crate::log::ResumeStep;
use crate::testing::vectors::journal;

/// A session with the legacy records of one input and of what followed it.
fn legacy(effects: Vec<Event>) -> Session {
    Session::new([vec![Of("").input("hello")], effects].concat())
}

fn hello_hash() -> String {
    wire::input_hash(&request(&["hello".into()])).unwrap()
}

#[test]
fn a_legacy_turn_is_finished_without_ids() {
    let mut session = legacy(vec![Of("").model_call(&hello_hash()), Of("").output("hi")]);
    assert_eq!(session.resume(&[Ask::Model, Ask::Usage(1)]), TurnEnd::Completed);
    assert_eq!(kinds(&session.events[3..]), ["USAGE", "END", "LIFECYCLE"]);
    assert!(session.events.iter().all(|event| event.execution_id.is_empty()));
    assert_eq!(session.model_calls, 0);
}

#[test]
fn usage_is_dropped_while_legacy_effects_are_left() {
    let records = vec![Of("").usage(1), Of("").model_call(&hello_hash()), Of("").output("hi")];
    let mut session = legacy(records);
    assert_eq!(session.resume(&[Ask::Usage(2), Ask::Model]), TurnEnd::Completed);
    assert_eq!(kinds(&session.events[4..]), ["END", "LIFECYCLE"]);
}

#[test]
fn a_legacy_model_call_without_output_is_never_made_again() {
    let mut session = legacy(vec![Of("").model_call(&hello_hash())]);
    assert_eq!(failure(session.resume(&[Ask::Model])), TurnFailure::CompletionMissing);
    assert_eq!(session.model_calls, 0);
}

#[test]
fn gates_are_refused_in_legacy_turns() {
    let mut session = legacy(vec![]);
    let failure = failure(session.resume(&[Ask::Gate("g")]));
    assert!(matches!(failure, TurnFailure::InvalidApprovalCall(_)));
    assert_eq!(kinds(&session.events[1..]), ["ERROR"]);
}

#[test]
fn only_the_last_input_is_resumed_and_what_precedes_it_is_history() {
    let first = vec![Of("").input("first"), Of("").output("x"), Of("").end()];
    let session = Session::new([first, vec![Of("").input("second")]].concat());
    let ResumeStep::Run(span) = session.resume_step() else { panic!("nothing to run") };
    let turn = span.read(&uid(), &session.events).unwrap();
    assert_eq!((turn.history_len, turn.inputs), (3, vec![Message::text("user", "second")]));
}

#[test]
fn vectors_cut_after_input_or_output_are_finished_without_ids() {
    let table = [
        ("crashed-input", "hello", 1, vec!["MODEL_CALL", "OUTPUT", "END", "LIFECYCLE"]),
        ("crashed-output", "hello", 0, vec!["END", "LIFECYCLE"]),
        ("multi-turn-crashed-output", "", 0, vec![]),
    ];
    for (name, input, model_calls, appended) in table {
        let Some(events) = journal(name) else { return };
        let before = events.len();
        let mut session = Session::new(events);
        let ResumeStep::Run(span) = session.resume_step() else { panic!("{name}: nothing to run") };
        if input.is_empty() {
            let turn = span.read(&uid(), &session.events).unwrap();
            assert_eq!((turn.history_len, turn.inputs[0].text_content()), (4, "second".into()));
            continue;
        }
        assert_eq!(session.recover(&span, &[echo(&[input])]), TurnEnd::Completed, "{name}");
        assert_eq!(kinds(&session.events[before..]), appended, "{name}");
        assert!(session.events.iter().all(|event| event.execution_id.is_empty()));
        assert_eq!(session.model_calls, model_calls, "{name}");
    }
}

#[test]
fn the_vector_cut_after_its_model_call_fails_without_a_call() {
    let Some(events) = journal("crashed-model") else { return };
    let mut session = Session::new(events);
    let ResumeStep::Run(span) = session.resume_step() else { panic!("nothing to run") };
    assert_eq!(failure(session.recover(&span, &[echo(&["hello"])])), TurnFailure::CompletionMissing);
    assert_eq!(session.model_calls, 0);
}

#[test]
fn finished_vectors_have_nothing_pending() {
    for name in ["completed", "multi-turn", "upgraded-resume", "mixed-completed"] {
        let Some(events) = journal(name) else { return };
        assert_eq!(Session::new(events).resume_step(), ResumeStep::NothingPending, "{name}");
    }
}

#[test]
fn the_vector_with_an_interrupted_modern_turn_resumes_that_turn() {
    let Some(events) = journal("mixed-interrupted") else { return };
    let mut session = Session::new(events);
    let ResumeStep::Run(span) = session.resume_step() else { panic!("nothing to run") };
    let turn = span.read(&uid(), &session.events).unwrap();
    assert_eq!((turn.execution.as_str(), turn.history_len), ("d3594a8cff91d240", 4));
    assert_eq!(session.recover(&span, &[echo(&["new"])]), TurnEnd::Completed);
    assert_eq!(kinds(&session.events[8..]), ["END", "LIFECYCLE"]);
    assert_eq!(session.model_calls, 0);
}

#[test]
fn the_whole_legacy_prefix_replays_as_one_run() {
    let table = [("completed", TurnEnd::Completed), ("multi-turn", diverged(Divergence::Content(Asked::Model)))];
    for (name, end) in table {
        let Some(events) = journal(name) else { return };
        let mut session = Session::new(events);
        let turns = session.log().completed_turns("echo", "1").unwrap();
        assert_eq!(turns.len(), 1, "{name}");
        let inputs: Vec<String> =
            turns[0].read(&uid(), &session.events).unwrap().inputs.iter().map(Message::text_content).collect();
        let first = vec![inputs[0].as_str()];
        let all: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let asks: Vec<Ask> = [first, all].iter().take(inputs.len()).map(|texts| echo(texts)).collect();
        assert_eq!(session.replay(&asks), end, "{name}");
        assert_eq!(session.model_calls, 0);
    }
}

/// The request that the reference's echo harness makes of these inputs.
fn echo(texts: &[&str]) -> Ask {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    let call = wire::ModelCall { model: "echo".into(), ..request(&texts) };
    raw(EventKind::EventModelCall, Body::Model(call))
}
