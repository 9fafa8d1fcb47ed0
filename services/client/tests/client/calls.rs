//! Unary calls and turns.

use std::time::Duration;

use client::{Client, Code, Options, Origin, Update};
use futures::StreamExt;
use tonic::Status;
use wire::exec_update::Update as Frame;
use wire::{Delta, ExecRequest, ExecUpdate, ForkRequest, Session};

use crate::script::{Script, record};

/// Turns are what one call of Exec sends.
fn one_call() -> Options {
    Options { turn_patience: Duration::ZERO, ..Options::default() }
}

fn frame(update: Frame) -> ExecUpdate {
    ExecUpdate { update: Some(update) }
}

#[tokio::test]
async fn an_error_carries_code_message_and_request_id() {
    let script = Script::default();
    let error = script.client().get("sess-1").await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (Code::NotFound, Origin::Host));
    assert_eq!(error.to_string(), "NOT_FOUND: no session sess-1");
    assert_eq!(script.with(|state| state.request_ids.clone()), [error.request_id()]);
}

#[tokio::test]
async fn every_call_has_its_own_request_id() {
    let script = Script::default();
    let client = script.client();
    for _ in 0..2 {
        client.create(Session::default()).await.unwrap();
    }
    let ids = script.with(|state| state.request_ids.clone());
    assert!(ids.iter().all(|id| id.len() == 24), "{ids:?}");
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_answer_ends_the_call_within_the_bound() {
    let script = Script::new(|state| state.silent = true);
    let error = script.client().get("sess-1").await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (Code::DeadlineExceeded, Origin::Transport));
    assert_eq!(script.with(|state| state.request_ids.len()), 1, "a call without an answer is not repeated");
}

#[tokio::test]
async fn a_turn_arrives_as_typed_updates_in_order_and_skips_unknown_ones() {
    let delta = Delta { chunk: "he".into(), ..Default::default() };
    let script = Script::new(|state| {
        state.updates = vec![
            frame(Frame::Session(Session::default())),
            ExecUpdate { update: None },
            frame(Frame::Record(record(1))),
            frame(Frame::Delta(delta.clone())),
        ];
    });
    let exec = script.client_with(one_call()).exec(ExecRequest::default());
    let updates: Vec<_> = exec.map(Result::unwrap).collect().await;
    let expected = [Update::Session(Box::default()), Update::Record(Box::new(record(1))), Update::Delta(delta)];
    assert_eq!(updates, expected);
}

#[tokio::test]
async fn a_turn_that_fails_gives_its_records_first_and_then_the_status() {
    let script = Script::new(|state| {
        state.updates = vec![frame(Frame::Record(record(1)))];
        state.exec_ends = Some(Status::internal("model failed"));
    });
    let mut exec = script.client_with(one_call()).exec(ExecRequest::default());
    assert!(matches!(exec.next().await, Some(Ok(Update::Record(_)))));
    let error = exec.next().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "INTERNAL: model failed");
    assert_eq!(error.request_id(), exec.request_id());
    assert!(exec.next().await.is_none());
}

#[tokio::test]
async fn children_come_in_the_order_of_their_names() {
    let request = ForkRequest { child_names: vec!["b".into(), "a".into()], ..Default::default() };
    let children = Script::default().client().fork(request).await.unwrap();
    let names: Vec<_> = children.iter().map(|child| child.metadata.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
}

#[tokio::test]
async fn calls_without_a_host_side_report_what_the_host_says() {
    let client = Script::default().client();
    assert_eq!(client.delete(wire::DeleteSessionRequest::default()).await.unwrap_err().code(), Code::Unimplemented);
    assert_eq!(client.cancel(wire::CancelRequest::default()).await.unwrap_err().code(), Code::Unimplemented);
    assert_eq!(client.approve(wire::ApproveRequest::default()).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(client.suspend("s").await.unwrap().compute_state(), wire::ComputeState::ComputeCold);
    assert_eq!(client.resume("s").await.unwrap().compute_state(), wire::ComputeState::ComputeLive);
}

#[tokio::test]
async fn an_address_where_nothing_listens_is_named_with_the_reason() {
    let gone = tempfile::tempdir().unwrap().path().join("gone.sock");
    let address = format!("unix:{}", gone.display());
    let Err(error) = Client::connect(&address.parse().unwrap()).await else { panic!("connected to nothing") };
    let text = error.to_string();
    assert!(text.contains(&address) && text.contains("No such file"), "{text}");
}
