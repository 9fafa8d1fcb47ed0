//! How turns end (execution.md §4.3).

use super::*;

#[test]
fn each_way_to_end_leaves_the_record_that_the_contract_names() {
    let end_with = |state: &str| {
        let error = Some(wire::Error { code: 3, description: "no luck".into() });
        raw(EventKind::EventEnd, Body::End(wire::HarnessEnd { state: state.into(), error }))
    };
    let failed = TurnFailure::HarnessEnded { state: "FAILED".into(), description: "no luck".into() };
    let stateless = TurnFailure::HarnessEnded { state: String::new(), description: String::new() };
    let table = [
        (end_with("COMPLETED"), TurnEnd::Completed, "END"),
        (end_with("FAILED"), TurnEnd::Failed(failed), "ERROR"),
        (raw(EventKind::EventEnd, None), TurnEnd::Failed(stateless), "ERROR"),
        (Ask::Close, TurnEnd::Completed, "END"),
        (Ask::Break, TurnEnd::Failed(TurnFailure::Harness("stream broke".into())), "ERROR"),
    ];
    for (ask, end, record) in table {
        let mut session = Session::started();
        assert_eq!(session.run(std::slice::from_ref(&ask)), end, "{ask:?}");
        assert_eq!(effects(&session), [record], "{ask:?}");
    }
}

#[test]
fn what_a_harness_says_at_its_end_is_cut_to_what_a_record_holds() {
    let text = "ü".repeat(10_000_000);
    let error = Some(wire::Error { code: 0, description: text.clone() });
    let ask = raw(EventKind::EventEnd, Body::End(wire::HarnessEnd { state: text, error }));
    let mut session = Session::started();
    assert!(matches!(session.run(&[ask]), TurnEnd::Failed(TurnFailure::HarnessEnded { .. })));
    let Some(Body::Error(error)) = &session.events[2].body else { panic!("no ERROR") };
    assert!(error.description.len() < 10_000, "{} bytes", error.description.len());
}

#[test]
fn the_error_record_has_code_0_and_the_text_of_the_failure() {
    let mut session = Session { model_fails: true, ..Session::started() };
    let failure = failure(session.run(&[Ask::Model]));
    assert_eq!(failure, TurnFailure::Model("status 500".into()));
    assert_eq!(effects(&session), ["MODEL_CALL", "ERROR"]);
    let Some(Body::Error(error)) = &session.events[3].body else { panic!("no ERROR") };
    assert_eq!((error.code, error.description.as_str()), (0, "model failed: status 500"));
}

#[test]
fn a_writer_that_lost_the_session_appends_nothing_more() {
    for lost in [LostWriter::Conflict, LostWriter::Fenced, LostWriter::Unknown] {
        for at in 3..=8 {
            let mut session = Session { refuse: Some((at, Refusal::Lost(lost))), ..Session::started() };
            let end = session.run(&[Ask::Model, Ask::Usage(1), Ask::Tool("t")]);
            assert_eq!(end, TurnEnd::Lost(lost), "{lost:?} at {at}");
            assert_eq!(session.events.len(), at - 1, "{lost:?} at {at}");
        }
    }
}

#[test]
fn an_append_that_certainly_did_not_happen_is_an_error_of_the_turn() {
    let table = [
        (Refusal::Unrecordable("NaN".into()), TurnFailure::Unrecordable("NaN".into())),
        (Refusal::Failed("disk full".into()), TurnFailure::Journal("disk full".into())),
    ];
    for (refusal, expected) in table {
        let mut session = Session { refuse: Some((4, refusal)), ..Session::started() };
        assert_eq!(session.run(&[Ask::Model]), TurnEnd::Failed(expected));
        assert_eq!(effects(&session), ["MODEL_CALL", "ERROR"]);
    }
}

#[test]
fn an_error_that_cannot_be_recorded_is_still_reported() {
    let failed = TurnEnd::Failed(TurnFailure::Harness("stream broke".into()));
    let table = [
        (Refusal::Failed("disk full".into()), failed.clone()),
        (Refusal::Lost(LostWriter::Unknown), failed),
        // That another writer is at work is the more useful thing to know.
        (Refusal::Lost(LostWriter::Fenced), TurnEnd::Lost(LostWriter::Fenced)),
    ];
    for (refusal, end) in table {
        let mut session = Session { refuse: Some((3, refusal)), ..Session::started() };
        assert_eq!(session.run(&[Ask::Break]), end);
        assert_eq!(session.events.len(), 2);
    }
}

#[test]
fn an_interruption_ends_the_turn_with_an_error_wherever_it_meets_it() {
    let asks_of = |ask| Input::Event { event: ask, fresh_id: "f".into() };
    let model = || asks_of(Of("e1").event(EventKind::EventModelCall, Body::Model(request(&[]))));
    let tool = || asks_of(Of("e1").tool_call(mediated("t")));
    let points: [Vec<Input>; 4] = [
        vec![],
        vec![model(), Input::Appended(seq(3))],
        vec![tool(), Input::Appended(seq(3))],
        vec![model(), Input::Appended(seq(3)), Input::ModelAnswered(Message::default()), Input::Appended(seq(4))],
    ];
    for interruption in [Interruption::Deadline, Interruption::ClientGone, Interruption::Shutdown] {
        for inputs in &points {
            let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
            turn.start();
            for input in inputs.clone() {
                turn.on(input);
            }
            let Action::Append(events) = turn.on(Input::Interrupted(interruption)) else { panic!("no ERROR") };
            assert_eq!(kinds(&events), ["ERROR"]);
            let end = turn.on(Input::Appended(seq(9)));
            assert_eq!(end, Action::Finish(TurnEnd::Failed(TurnFailure::Interrupted(interruption))));
        }
    }
}

#[test]
fn a_canceled_turn_stops_its_harness_and_appends_nothing_by_itself() {
    let asked = |event| Input::Event { event, fresh_id: "f".into() };
    let model = || asked(Of("e1").event(EventKind::EventModelCall, Body::Model(request(&[]))));
    let park = || asked(Of("e1").tool_call(gated("g")));
    let points: [Vec<Input>; 5] = [
        vec![],
        vec![model(), Input::Appended(seq(3))],
        vec![model(), Input::Appended(seq(3)), Input::ModelAnswered(Message::default()), Input::Appended(seq(4))],
        vec![park(), Input::Appended(seq(3))],
        vec![park(), Input::Appended(seq(3)), Input::Sent],
    ];
    for inputs in points {
        let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
        turn.start();
        for input in inputs {
            turn.on(input);
        }
        assert_eq!(turn.on(Input::Interrupted(Interruption::Canceled)), Action::Stop);
        assert_eq!(turn.on(Input::Stopped), Action::Finish(TurnEnd::Canceled));
    }
}

#[test]
fn a_harness_that_cannot_be_connected_is_an_error_of_the_turn() {
    let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
    let Action::Append(events) = turn.on(Input::HarnessFailed("refused".into())) else { panic!("no ERROR") };
    assert_eq!(kinds(&events), ["ERROR"]);
}

#[test]
fn an_outcome_that_nobody_asked_for_ends_the_turn_without_a_record() {
    let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
    turn.start();
    let over = Action::Finish(TurnEnd::Failed(TurnFailure::OutOfStep));
    assert_eq!(turn.on(Input::Sent), over);
    assert_eq!(turn.on(Input::Closed), over);
}

#[test]
fn an_append_that_was_cut_short_has_an_unknown_outcome() {
    let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
    turn.start();
    assert!(matches!(turn.on(Input::Closed), Action::Append(_)));
    let unknown = Action::Finish(TurnEnd::Lost(LostWriter::Unknown));
    assert_eq!(turn.on(Input::Interrupted(Interruption::Shutdown)), unknown);
}
