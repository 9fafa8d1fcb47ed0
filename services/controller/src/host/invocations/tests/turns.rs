//! Invocations as the turns that they are.

use std::time::Duration;

use futures::TryStreamExt;
use tokio::time::Instant;
use wire::EventKind::{
    EventApprovalRequest, EventApprovalResult, EventEnd, EventExecutionStart, EventInput, EventModelCall, EventOutput,
    EventToolCall,
};
use wire::event::Body;
use wire::stream_frame::Frame;
use wire::{ApproveRequest, CancelRequest, ExecRequest, ForkRequest, Invocation, Message, ResumeRequest, Session};

use super::*;
use crate::testing::agents::{Said, Script, ended, item, says, stream, string};
use crate::testing::events::gated;
use crate::testing::host::{THINKS, call};
use crate::testing::script::request;
use crate::{Classified, ErrorClass, HostError};

/// Asks a model and goes on without waiting for the answer: gives back what comes.
fn thinks_and_echoes(invocation: &Invocation) -> Script {
    let mut asks = Some(Said::Event(EventModelCall, Body::Model(request(&["what now?".into()]))));
    let mut echoes = echo(invocation);
    Box::new(move |told| asks.take().or_else(|| echoes(told)))
}

#[tokio::test(start_paused = true)]
async fn streams_go_both_ways_while_the_turn_waits_for_a_model() {
    let place = Place::alone(&Agents::new(thinks_and_echoes)).await;
    let begun = Instant::now();
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a", "b"])).await;
    client.has_output(2).await;
    client.send(2, &texts(&["c"])).await;
    client.end(3).await;
    client.has_output(3).await;
    assert!(begun.elapsed() < THINKS, "not only once it has answered");
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a", "b", "c"]));
    let kinds = place.kinds(&client.session).await;
    // The answer, what the method returned, and the streams.
    let said = [EventOutput; 3];
    assert_eq!(kinds, [&[EventExecutionStart, EventInput, EventModelCall][..], &said, &[EventEnd]].concat());
}

#[tokio::test(start_paused = true)]
async fn what_was_streamed_while_the_turn_waited_is_found_again_by_a_run_that_is_told_the_recorded_answer() {
    let agents = Agents::new(|invocation| {
        let (mut thinks, mut said) = (thinks_and_echoes(invocation), 0);
        Box::new(move |told| match thinks(told) {
            Some(Said::Frame(stream, Frame::Item(item))) => {
                said += 1;
                Some(Said::Frame(stream, Frame::Item(item)))
            }
            None if said == 2 => Some(Said::Breaks),
            other => other,
        })
    });
    let place = Place::alone(&agents).await;
    let begun = Instant::now();
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a", "b"])).await;
    client.has_output(2).await;
    agents.follow(thinks_and_echoes);
    client.end(2).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert!(begun.elapsed() < 2 * THINKS, "the answer was recorded, although nobody was there to hear it");
    assert_eq!(client.output().await, texts(&["a", "b"]));
    assert_eq!(agents.invoked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_invocation_that_needs_an_approval_waits_for_it_and_goes_on() {
    let gate = || Said::Event(EventToolCall, Body::Tool(gated("gate")));
    let agents = Agents::new(move |_| {
        let begin = [Said::Return(stream("out")), item("out", 0, string("a")), gate()];
        says(begin.into_iter().chain([item("out", 1, string("b")), ended("out"), Said::Completed]))
    });
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    let gate = loop {
        let session = place.journal.session(&client.session).await.unwrap().unwrap().to_wire();
        match session.pending_approval {
            Some(gate) => break gate,
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    tokio::time::sleep(Duration::from_secs(1000)).await;
    let request = ApproveRequest {
        session: client.session.to_string(),
        execution_id: gate.execution_id,
        tool_call_id: gate.tool_call_id,
        request_seq: gate.request_seq,
        approved: Some(false),
        ..ApproveRequest::default()
    };
    while place.host.approve(request.clone()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a", "b"]));
    let kinds = place.kinds(&client.session).await;
    let count = |kind| kinds.iter().filter(|&&found| found == kind).count();
    assert_eq!([EventToolCall, EventApprovalRequest, EventApprovalResult].map(count), [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_invocation_that_was_interrupted_and_superseded_by_another_turn_has_failed() {
    let agents = Agents::new(|_| says([Said::Return(stream("out")), Said::Breaks]));
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.has_output(0).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    // The scripted harness takes no plain turns, but this one begins.
    exec(&place, &client.session).await.unwrap_err();
    assert_eq!(client.outcome().await, failure());
}

async fn exec(place: &Place, session: &SessionUid) -> Result<(), HostError> {
    let inputs = vec![Message::text("user", "hello")];
    let request = ExecRequest { session: session.to_string(), inputs, ..ExecRequest::default() };
    place.host.exec(request, call(None)).try_for_each(async |_| Ok(())).await
}

async fn resume(place: &Place, session: &SessionUid) -> Result<Session, HostError> {
    place.host.resume(ResumeRequest { session: session.to_string(), ..ResumeRequest::default() }, call(None)).await
}

#[tokio::test(start_paused = true)]
async fn a_harness_that_says_that_it_takes_invocations_alone_is_asked_for_nothing_else() {
    let agents = Agents::new(echo);
    agents.say_invocations_alone();
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.end(0).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    let before = place.journal.session(&client.session).await.unwrap().unwrap();
    let refused = exec(&place, &client.session).await.unwrap_err();
    assert!(matches!(&refused, HostError::OnlyInvocations(_)), "{refused:?}");
    assert_eq!(refused.class(), ErrorClass::FailedPrecondition);
    let after = place.journal.session(&client.session).await.unwrap().unwrap();
    assert_eq!((after.last_seq(), after.fence()), (before.last_seq(), before.fence()), "nothing is recorded");
    let client = place.start(1, "next", Kind::Strings).await;
    client.end(0).await;
    assert_eq!(client.outcome().await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_an_unfinished_invocation_does_not_go_on_with_it_and_is_of_use_all_the_same() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    let request = ForkRequest { session: client.session.to_string(), count: 2, ..ForkRequest::default() };
    let children = place.host.fork(request, call(None)).await.unwrap().children;
    let uids = children.into_iter().map(|child| SessionUid::parse(&child.metadata.unwrap().uid).unwrap());
    let uids: Vec<_> = uids.collect();
    let [closed, superseded] = uids.as_slice() else { panic!("two children") };
    for child in [closed, superseded] {
        let before = place.kinds(child).await;
        let refused = resume(&place, child).await.unwrap_err();
        assert!(matches!(&refused, HostError::InvocationOfAnother), "{refused:?}");
        assert_eq!(refused.class(), ErrorClass::FailedPrecondition);
        assert_eq!(place.kinds(child).await, before, "nothing is recorded");
    }
    let cancel = CancelRequest { session: closed.to_string(), ..CancelRequest::default() };
    place.host.cancel(cancel).await.unwrap();
    resume(&place, closed).await.unwrap();
    exec(&place, superseded).await.unwrap_err();
    let log = place.log(superseded).await;
    assert!(log.last().is_some_and(|event| !event.execution_id.starts_with("inv-")), "another turn has begun");

    // The invocation is where it was.
    let refused = resume(&place, &client.session).await.unwrap_err();
    assert!(matches!(refused, HostError::Busy), "{refused:?}");
    client.end(1).await;
    assert_eq!(client.outcome().await, Outcome::Success);
}
