//! What the host records of an invocation by itself.

use super::*;
use crate::turn::{Effect, Recording};

/// The result of a method, say, which no harness could emit in this form.
fn account(of: &str) -> Message {
    Message { role: "assistant".into(), parts: vec![wire::Part::data(args(of)), wire::Part::text(of)] }
}

fn live() -> Turn {
    let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
    assert_eq!(turn.start(), Action::ReadHarness);
    turn
}

fn recovered(recorded: Message) -> Turn {
    let mut recording = Recording::new(false);
    recording.push(Effect::Output(recorded));
    let mut turn = Turn::recover(ExecutionId::new("e1"), recording, Resumability::StatelessReplay);
    turn.start();
    turn
}

#[test]
fn an_account_is_recorded_as_it_is_and_the_harness_is_read_on() {
    let mut turn = live();
    let event = Of("e1").event(EventKind::EventOutput, Body::Message(account("x")));
    assert_eq!(turn.on(Input::Emit(account("x"))), Action::Append(vec![event]));
    assert_eq!(turn.on(Input::Appended(seq(3))), Action::ReadHarness);
}

#[test]
fn a_recorded_account_is_not_recorded_again() {
    let mut turn = recovered(account("x"));
    assert_eq!(turn.on(Input::Emit(account("x"))), Action::ReadHarness);
    let again = turn.on(Input::Emit(account("y")));
    assert!(matches!(again, Action::Append(_)), "what comes after the record is live: {again:?}");
}

#[test]
fn an_account_is_compared_as_a_whole() {
    let text_alone = Message::text("assistant", account("x").text_content());
    for recorded in [account("y"), text_alone] {
        let mut turn = recovered(recorded);
        turn.on(Input::Emit(account("x")));
        let end = turn.on(Input::Appended(seq(4)));
        assert_eq!(end, Action::Finish(diverged(Divergence::Content(Asked::Account))));
    }
}

#[test]
fn events_of_an_invocation_are_a_violation_in_a_turn_that_is_none() {
    let frame = Body::Stream(wire::StreamFrame::default());
    let returned = Body::Returned(wire::MethodReturn::default());
    for (kind, body) in [(EventKind::EventStream, frame), (EventKind::EventReturn, returned)] {
        let mut session = Session::started();
        let end = session.run(&[raw(kind, body)]);
        assert!(matches!(failure(end), TurnFailure::Violation(_)));
        assert_eq!(effects(&session), ["ERROR"]);
    }
}
