//! Turns against scripted answers, and against a world that cuts them anywhere.

mod cuts;

use tonic::Status;
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{
    ApprovalRef, Event, EventKind, ExecRequest, ExecutionStart, HarnessEnd, Lifecycle, LogRecord, Message, Session,
};

use super::{Action, Input, Turn};
use crate::{Code, Error, Origin, Update};

/// The id that the turn is to have.
const OURS: &str = "00000000000000aa";
const OTHER: &str = "00000000000000bb";
/// The head before the turn.
const HEAD: i64 = 5;

fn request(inputs: &[&str]) -> ExecRequest {
    ExecRequest {
        session: "sess-1".into(),
        inputs: inputs.iter().map(|text| Message::text("user", *text)).collect(),
        expected_last_seq: Some(HEAD),
        execution_id: OURS.into(),
        ..ExecRequest::default()
    }
}

fn turn() -> Turn {
    let mut turn = Turn::new(request(&["hello"]), "id".into());
    assert!(matches!(turn.begin(None), Action::Exec));
    turn
}

/// An Exec without inputs, which goes on with a parked turn if there is one.
fn recovery() -> Turn {
    let mut turn = Turn::new(request(&[]), "id".into());
    assert!(matches!(turn.begin(None), Action::Exec));
    turn
}

fn record(seq: i64, execution: &str, kind: EventKind, body: impl Into<Option<Body>>) -> LogRecord {
    LogRecord { seq, event: Some(Event::new(kind, body).of_execution(execution)), ..LogRecord::default() }
}

fn start(seq: i64, execution: &str) -> LogRecord {
    record(seq, execution, EventKind::EventExecutionStart, Body::ExecutionStart(ExecutionStart::default()))
}

fn output(seq: i64, execution: &str) -> LogRecord {
    record(seq, execution, EventKind::EventOutput, None)
}

fn end(seq: i64, execution: &str, state: &str) -> LogRecord {
    record(seq, execution, EventKind::EventEnd, Body::End(HarnessEnd { state: state.into(), error: None }))
}

fn marker(seq: i64, kind: Kind) -> LogRecord {
    let lifecycle = Lifecycle { kind: kind.into(), ..Lifecycle::default() };
    record(seq, "", EventKind::EventLifecycle, Body::Lifecycle(lifecycle))
}

fn streamed(record: LogRecord) -> Input {
    Input::Streamed(Update::Record(Box::new(record)))
}

fn opened() -> Input {
    Input::Streamed(Update::Session(Box::default()))
}

fn refused(status: &Status) -> Error {
    Error::from_status(status, "id")
}

fn broken() -> Error {
    refused(&Status::from_error("reset".into()))
}

/// The record that is handed to the caller.
fn delivered(action: Action) -> LogRecord {
    match action {
        Action::Deliver(Update::Record(record)) => *record,
        other => panic!("no record: {other:?}"),
    }
}

fn failure(action: Action) -> Error {
    match action {
        Action::Finish(Err(error)) => error,
        other => panic!("no failure: {other:?}"),
    }
}

/// Gives `turn` an input that hands a record to the caller, and goes on.
fn takes(turn: &mut Turn, input: Input, seq: i64) -> Action {
    assert_eq!(delivered(turn.on(input)).seq, seq);
    turn.on(Input::Delivered)
}

/// A turn whose stream broke after its START.
fn cut_after_start() -> Turn {
    let mut turn = turn();
    assert!(matches!(turn.on(opened()), Action::Deliver(Update::Session(_))));
    assert!(matches!(turn.on(Input::Delivered), Action::ReadStream));
    assert!(matches!(takes(&mut turn, streamed(start(6, OURS)), 6), Action::ReadStream));
    assert!(matches!(turn.on(Input::StreamFailed(broken())), Action::ReadLog));
    turn
}

#[test]
fn a_turn_that_runs_through_is_only_its_stream() {
    let mut turn = turn();
    turn.on(opened());
    turn.on(Input::Delivered);
    takes(&mut turn, streamed(start(6, OURS)), 6);
    takes(&mut turn, streamed(end(7, OURS, "COMPLETED")), 7);
    assert!(matches!(turn.on(Input::StreamEnded), Action::Finish(Ok(()))));
}

#[test]
fn a_turn_that_was_cut_after_its_start_is_read_and_resumed_and_read_to_its_end() {
    let mut turn = cut_after_start();
    assert!(matches!(takes(&mut turn, Input::Logged(output(7, OURS)), 7), Action::ReadLog));
    assert!(matches!(turn.on(Input::LogEnded), Action::Resume));
    assert!(matches!(turn.on(Input::StillResuming), Action::ReadLog));
    assert!(matches!(takes(&mut turn, Input::Logged(output(8, OURS)), 8), Action::ReadLog));
    assert!(matches!(turn.on(Input::LogEnded), Action::AwaitResume));
    assert!(matches!(turn.on(Input::Resumed(Session::default())), Action::ReadLog));
    takes(&mut turn, Input::Logged(end(9, OURS, "COMPLETED")), 9);
    takes(&mut turn, Input::Logged(marker(10, Kind::LifecycleResume)), 10);
    assert!(matches!(turn.on(Input::LogEnded), Action::Finish(Ok(()))));
}

#[test]
fn an_end_that_was_sent_needs_no_good_end_of_the_stream() {
    let mut turn = turn();
    takes(&mut turn, streamed(start(6, OURS)), 6);
    takes(&mut turn, streamed(end(7, OURS, "COMPLETED")), 7);
    assert!(matches!(turn.on(Input::StreamFailed(broken())), Action::Finish(Ok(()))));
}

#[test]
fn a_good_end_of_the_stream_before_the_end_of_the_turn_is_not_believed() {
    let mut turn = turn();
    takes(&mut turn, streamed(start(6, OURS)), 6);
    assert!(matches!(turn.on(Input::StreamEnded), Action::ReadLog));
    assert!(matches!(turn.on(Input::LogEnded), Action::Resume));
}

#[test]
fn a_turn_that_has_not_begun_is_begun_again_with_the_same_id_at_the_same_head() {
    let mut turn = turn();
    assert!(matches!(turn.on(Input::StreamFailed(broken())), Action::ReadLog));
    assert!(matches!(turn.on(Input::LogEnded), Action::Pause { patient: true }));
    assert!(matches!(turn.on(Input::Paused), Action::Exec));
    assert_eq!(*turn.request(), request(&["hello"]));
}

#[test]
fn a_lost_answer_is_told_from_a_lost_race_by_the_id_of_the_turn() {
    for status in [Status::aborted("busy or moved"), Status::already_exists("has it")] {
        let mut own = turn();
        own.on(Input::StreamFailed(broken()));
        own.on(Input::LogEnded);
        own.on(Input::Paused);
        assert!(matches!(own.on(Input::StreamFailed(refused(&status))), Action::ReadLog));
        takes(&mut own, Input::Logged(start(6, OURS)), 6);
        assert!(matches!(own.on(Input::LogEnded), Action::Resume));
    }
    let mut raced = turn();
    raced.on(Input::StreamFailed(broken()));
    let error = failure(raced.on(Input::Logged(start(6, OTHER))));
    assert_eq!((error.code(), error.origin()), (Code::Aborted, Origin::Log));
}

#[test]
fn what_a_host_refuses_before_the_turn_has_begun_is_reported_as_it_is() {
    for status in [Status::aborted("busy"), Status::failed_precondition("pinned"), Status::not_found("gone")] {
        let error = failure(turn().on(Input::StreamFailed(refused(&status))));
        assert_eq!((error.code(), error.origin()), (status.code(), Origin::Host));
    }
}

#[test]
fn a_node_that_takes_no_turns_leaves_no_doubt_and_the_next_is_asked_as_often_as_for_any_call() {
    let mut turn = turn();
    let action = turn.on(Input::StreamFailed(refused(&Status::unavailable("draining"))));
    assert!(matches!(action, Action::Pause { patient: false }));
    assert_eq!(failure(turn.on(Input::OutOfPatience)).code(), Code::Unavailable);
}

#[test]
fn a_turn_that_failed_is_not_resumed() {
    let mut turn = turn();
    takes(&mut turn, streamed(start(6, OURS)), 6);
    let error = failure(turn.on(Input::StreamFailed(refused(&Status::internal("model failed")))));
    assert_eq!(error.code(), Code::Internal);
}

#[test]
fn a_node_that_shuts_down_or_was_fenced_out_has_not_failed_the_turn() {
    for status in [Status::unavailable("node is shutting down"), Status::aborted("taken over")] {
        let mut turn = turn();
        takes(&mut turn, streamed(start(6, OURS)), 6);
        assert!(matches!(turn.on(Input::StreamFailed(refused(&status))), Action::ReadLog));
    }
}

#[test]
fn a_turn_that_fails_when_it_is_resumed_gives_its_records_first() {
    let mut turn = cut_after_start();
    turn.on(Input::LogEnded);
    assert!(matches!(turn.on(Input::ResumeFailed(refused(&Status::internal("model failed")))), Action::ReadLog));
    takes(&mut turn, Input::Logged(record(7, OURS, EventKind::EventError, None)), 7);
    assert_eq!(failure(turn.on(Input::LogEnded)).code(), Code::Internal);
}

#[test]
fn a_turn_that_somebody_else_runs_is_followed_as_long_as_its_log_grows() {
    let mut turn = cut_after_start();
    turn.on(Input::LogEnded);
    assert!(matches!(turn.on(Input::ResumeFailed(refused(&Status::aborted("busy")))), Action::ReadLog));
    takes(&mut turn, Input::Logged(output(7, OURS)), 7);
    assert!(matches!(turn.on(Input::LogEnded), Action::Pause { patient: true }));
    turn.on(Input::Paused);
    takes(&mut turn, Input::Logged(output(8, OURS)), 8);
    assert!(matches!(turn.on(Input::LogEnded), Action::Pause { patient: true }), "it has grown");
    turn.on(Input::Paused);
    assert!(matches!(turn.on(Input::LogEnded), Action::Resume), "it has not");
}

#[test]
fn a_turn_that_another_has_superseded_ends_without_the_others_records() {
    let mut turn = cut_after_start();
    takes(&mut turn, Input::Logged(output(7, OURS)), 7);
    assert_eq!(failure(turn.on(Input::Logged(start(8, OTHER)))).code(), Code::Aborted);
}

#[test]
fn what_follows_the_end_of_the_turn_is_not_handed_out() {
    let mut turn = cut_after_start();
    takes(&mut turn, Input::Logged(end(7, OURS, "COMPLETED")), 7);
    takes(&mut turn, Input::Logged(marker(8, Kind::LifecycleResume)), 8);
    assert!(matches!(turn.on(Input::Logged(start(9, OTHER))), Action::Finish(Ok(()))));
}

#[test]
fn a_turn_that_was_canceled_meanwhile_is_reported_so() {
    let mut turn = cut_after_start();
    takes(&mut turn, Input::Logged(marker(7, Kind::LifecycleCancel)), 7);
    takes(&mut turn, Input::Logged(end(8, OURS, "CANCELED")), 8);
    assert_eq!(failure(turn.on(Input::LogEnded)).code(), Code::Cancelled);
}

#[test]
fn a_turn_that_parks_ends_with_the_session() {
    let gate = ApprovalRef { execution_id: OURS.into(), tool_call_id: "call".into(), request_seq: 7 };
    let parked = Session { pending_approval: Some(gate), ..Session::default() };
    let mut turn = cut_after_start();
    takes(&mut turn, Input::Logged(record(7, OURS, EventKind::EventApprovalRequest, None)), 7);
    assert!(matches!(turn.on(Input::LogEnded), Action::Resume), "the gate may have been decided meanwhile");
    assert!(matches!(turn.on(Input::Resumed(parked)), Action::ReadLog));
    assert!(matches!(turn.on(Input::LogEnded), Action::Deliver(Update::Session(_))));
    assert!(matches!(turn.on(Input::Delivered), Action::Finish(Ok(()))));
}

#[test]
fn a_recovery_that_was_cut_goes_on_and_ends_with_the_session() {
    let mut turn = recovery();
    turn.on(Input::StreamFailed(broken()));
    takes(&mut turn, Input::Logged(record(6, OTHER, EventKind::EventToolResult, None)), 6);
    takes(&mut turn, Input::Logged(end(7, OTHER, "COMPLETED")), 7);
    assert!(matches!(turn.on(Input::LogEnded), Action::ReadSession));
    assert!(matches!(turn.on(Input::SessionRead(Session::default())), Action::Deliver(Update::Session(_))));
    assert!(matches!(turn.on(Input::Delivered), Action::Finish(Ok(()))));
}

#[test]
fn a_recovery_without_anything_to_do_is_asked_for_again() {
    let mut turn = recovery();
    turn.on(opened());
    turn.on(Input::Delivered);
    turn.on(Input::StreamFailed(broken()));
    assert!(matches!(turn.on(Input::LogEnded), Action::Pause { patient: true }));
    assert!(matches!(turn.on(Input::Paused), Action::Exec));
    assert!(matches!(turn.on(opened()), Action::ReadStream), "the caller has it");
    assert!(matches!(turn.on(opened()), Action::Deliver(Update::Session(_))), "this is the last frame");
    turn.on(Input::Delivered);
    assert!(matches!(turn.on(Input::StreamEnded), Action::Finish(Ok(()))));
}

#[test]
fn a_session_that_was_created_for_the_turn_is_handed_out_once() {
    let mut turn = Turn::new(request(&["hello"]), "id".into());
    assert!(matches!(turn.begin(Some(Session::default())), Action::Deliver(Update::Session(_))));
    assert!(matches!(turn.on(Input::Delivered), Action::Exec));
    assert!(matches!(turn.on(opened()), Action::ReadStream));
}

#[test]
fn a_host_that_chooses_the_id_itself_is_followed_by_that() {
    let mut turn = turn();
    takes(&mut turn, streamed(start(6, OTHER)), 6);
    turn.on(Input::StreamFailed(broken()));
    assert!(matches!(takes(&mut turn, Input::Logged(output(7, OTHER)), 7), Action::ReadLog));
}

#[test]
fn a_node_whose_harness_is_down_is_not_lost() {
    let unavailable = refused(&Status::unavailable("harness is down, or the node"));
    let mut turn = turn();
    assert!(turn.is_lost(&unavailable), "it takes no calls");
    turn.on(opened());
    turn.on(Input::Delivered);
    assert!(!turn.is_lost(&unavailable) && turn.is_lost(&broken()));
    takes(&mut turn, streamed(start(6, OURS)), 6);
    assert!(turn.is_lost(&unavailable), "it shuts down");
}

#[test]
fn a_begun_turn_waits_for_a_node_that_has_room() {
    let mut turn = cut_after_start();
    turn.on(Input::LogEnded);
    turn.on(Input::ResumeFailed(refused(&Status::resource_exhausted("all calls are taken"))));
    assert!(matches!(turn.on(Input::LogEnded), Action::Pause { patient: true }));
    assert!(matches!(turn.on(Input::Paused), Action::ReadLog));
    assert!(matches!(turn.on(Input::LogEnded), Action::Resume));
    turn.on(Input::ResumeFailed(refused(&Status::aborted("busy"))));
    turn.on(Input::LogEnded);
    assert_eq!(failure(turn.on(Input::OutOfPatience)).code(), Code::Aborted);
}
