//! Normal turns (execution.md §4, §5.1, §5.2).

use super::*;

#[test]
fn every_effect_is_recorded_in_the_order_of_the_asks_and_then_the_end() {
    let mut session = Session::started();
    let asks = [Ask::Model, Ask::Output, Ask::Usage(7), Ask::Report("r"), Ask::Tool("t")];
    assert_eq!(session.run(&asks), TurnEnd::Completed);
    let expected = ["MODEL_CALL", "OUTPUT", "OUTPUT", "USAGE", "TOOL_RESULT", "TOOL_CALL", "TOOL_RESULT", "END"];
    assert_eq!(effects(&session), expected);
    assert!(session.events.iter().all(|event| event.execution_id == "e1"));
    assert_eq!(session.events.last(), Some(&Of("e1").end()));
}

#[test]
fn a_model_call_is_recorded_as_its_hash_under_a_host_id() {
    let mut session = Session::started();
    session.run(&[Ask::Model]);
    let Some(Body::Model(call)) = &session.events[2].body else { panic!("no MODEL_CALL") };
    let hash = wire::input_hash(&request(&["hello".into()])).unwrap();
    let recorded = wire::ModelCall { model: "m".into(), input_hash: hash, id: "fresh-2".into(), ..Default::default() };
    assert_eq!(*call, recorded);
}

#[test]
fn the_reply_to_a_model_call_carries_the_harness_id_and_no_usage() {
    let mut session = Session::started();
    session.run(&[Ask::Model]);
    let [HostFrame::Model(reply)] = &session.frames[..] else { panic!("no reply") };
    assert_eq!((reply.model_call_id.as_str(), &reply.usage), ("correlation", &None));
    assert_eq!(reply.message.clone().unwrap().text_content(), "answer to hello");
}

#[test]
fn a_provider_message_is_recorded_and_replied_whole_in_its_stored_form() {
    let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
    let reasoning = |opaque| wire::ReasoningPart { provider: "p".into(), opaque, ..Default::default() };
    let message =
        |opaque| Message { role: "assistant".into(), parts: vec![part::Part::Reasoning(reasoning(opaque)).into()] };
    let event = Of("e1").event(EventKind::EventModelCall, Body::Model(request(&[])));

    turn.start();
    turn.on(Input::Event { event, fresh_id: "f".into() });
    turn.on(Input::Appended(seq(3)));
    let empty = wire::reasoning_part::Opaque::OpaqueBytes(Vec::new());
    let append = turn.on(Input::ModelAnswered(message(Some(empty))));
    let stored = Of("e1").event(EventKind::EventOutput, Body::Message(message(None)));
    assert_eq!(append, Action::Append(vec![stored]));
    let Action::Send(HostFrame::Model(reply)) = turn.on(Input::Appended(seq(4))) else { panic!("no reply") };
    assert_eq!(reply.message, Some(message(None)));
}

#[test]
fn harness_output_is_recorded_as_one_assistant_text_part() {
    let parts = vec![wire::Part::text("a"), wire::Part::data(args("x")), wire::Part::text("b")];
    let message = Message { role: "system".into(), parts };
    let mut session = Session::started();
    session.run(&[raw(EventKind::EventOutput, Body::Message(message))]);
    assert_eq!(session.events[2], Of("e1").output("ab"));
}

#[test]
fn an_unknown_tool_choice_fails_the_turn_before_anything_is_recorded() {
    let choice = wire::ToolChoice { mode: 9, name: String::new() };
    let call = wire::ModelCall { tool_choice: Some(choice), ..request(&[]) };
    let mut session = Session::started();
    let end = session.run(&[raw(EventKind::EventModelCall, Body::Model(call))]);
    assert!(matches!(failure(end), TurnFailure::InvalidModelCall(_)));
    assert_eq!(effects(&session), ["ERROR"]);
    assert_eq!(session.model_calls, 0);
}

#[test]
fn a_turn_without_asks_only_ends() {
    let mut session = Session::started();
    assert_eq!(session.run(&[]), TurnEnd::Completed);
    assert_eq!(effects(&session), ["END"]);
}

#[test]
fn events_that_a_host_ignores_change_nothing() {
    let ignored = [
        raw(EventKind::EventInput, Body::Message(Message::text("user", "x"))),
        Ask::Raw(Box::new(Event { execution_id: "e1".into(), ..lifecycle(wire::lifecycle::Kind::LifecycleSuspend) })),
        raw(EventKind::EventError, None),
        raw(EventKind::Unspecified, None),
        Ask::Raw(Box::new(Event { kind: 99, execution_id: "e1".into(), ..Event::default() })),
        raw(EventKind::EventToolResult, None),
        raw(EventKind::EventUsage, None),
        raw(EventKind::EventOutput, None),
    ];
    let mut session = Session::started();
    assert_eq!(session.run(&ignored), TurnEnd::Completed);
    assert_eq!(effects(&session), ["END"]);
}

#[test]
fn events_that_a_harness_must_not_send_fail_the_turn() {
    let refused = [
        raw(EventKind::EventModelCall, None),
        raw(EventKind::EventToolCall, None),
        raw(EventKind::EventApprovalRequest, None),
        raw(EventKind::EventApprovalResult, None),
        raw(EventKind::EventExecutionStart, None),
        raw(EventKind::EventParked, Body::Parked(wire::ApprovalRef::default())),
        Ask::Raw(Box::new(Of("e2").output("x"))),
        Ask::Raw(Box::new(Of("").error())),
    ];
    for ask in refused {
        let mut session = Session::started();
        let end = session.run(&[Ask::Output, ask.clone()]);
        assert!(matches!(failure(end), TurnFailure::Violation(_)), "{ask:?}");
        assert_eq!(effects(&session), ["OUTPUT", "ERROR"], "{ask:?}");
    }
}
