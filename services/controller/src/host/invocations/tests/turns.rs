//! Invocations as the turns that they are.

use std::time::Duration;

use futures::TryStreamExt;
use wire::EventKind::{EventApprovalRequest, EventApprovalResult, EventToolCall};
use wire::event::Body;
use wire::{ApproveRequest, ExecRequest, Message};

use super::*;
use crate::testing::agents::{Said, ended, item, says, stream, string};
use crate::testing::events::gated;
use crate::testing::host::call;

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
    let request = ExecRequest {
        session: client.session.to_string(),
        inputs: vec![Message::text("user", "hello")],
        ..ExecRequest::default()
    };
    // The scripted harness takes no plain turns, but this one begins.
    let updates = place.host.exec(request, call(None));
    updates.try_for_each(async |_| Ok(())).await.unwrap_err();
    assert_eq!(client.outcome().await, failure());
}
