//! How a run ends.

use std::future::pending;
use std::io;

use sdk::{Failure, SinkError, Turn, Violation};
use wire::controller_frame::Frame;
use wire::{Cancel, ControllerFrame, Event, EventKind, Message, Start};

use super::actors::{Host, answer, call, envelope, question, result, text};

#[tokio::test]
async fn every_effect_of_a_turn_comes_out_in_order_and_end_closes_it() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            let answer = sink.model(question()).await?;
            sink.output(answer).await?;
            sink.usage(wire::Usage::default()).await?;
            sink.report(result("own")).await?;
            sink.tool(call()).await?;
            Ok(())
        })
    });
    host.expect(EventKind::EventModelCall).await;
    host.send(answer("m1"));
    host.expect(EventKind::EventOutput).await;
    host.expect(EventKind::EventUsage).await;
    host.expect(EventKind::EventToolResult).await;
    host.expect(EventKind::EventToolCall).await;
    host.send(Frame::Tool(result("c1")));
    host.expect_completed().await;
}

#[tokio::test]
async fn model_requests_without_an_id_get_distinct_ones() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            for _ in 0..2 {
                sink.model(wire::ModelCall::default()).await?;
            }
            Ok(())
        })
    });
    for id in ["model-1", "model-2"] {
        host.expect(EventKind::EventModelCall).await;
        host.send(answer(id));
    }
    host.expect_completed().await;
}

#[tokio::test]
async fn failure_carries_the_text_of_the_error_and_its_sources() {
    let mut host = Host::running(|_, _| {
        Box::pin(async {
            let cause = io::Error::other("disk full");
            Err(io::Error::other(Wrapped(cause)).into())
        })
    });
    assert_eq!(host.expect_failed().await, "saving: disk full");
}

#[derive(Debug, thiserror::Error)]
#[error("saving")]
struct Wrapped(#[source] io::Error);

#[tokio::test]
async fn panic_fails_the_turn_and_nothing_else() {
    let mut host = Host::running(|_, _| Box::pin(async { panic!("bug") }));
    assert_eq!(host.expect_failed().await, "the harness panicked");
}

#[tokio::test]
async fn cancel_stops_a_harness_that_waits_for_something_else() {
    let mut host = Host::running(|_, _| Box::pin(pending()));
    assert!(futures::poll!(Box::pin(host.event())).is_pending());
    host.send(Frame::Cancel(Cancel { reason: "enough".into() }));
    assert_eq!(host.expect_failed().await, "canceled by the host: enough");
}

#[tokio::test]
async fn waiting_effect_fails_when_the_host_stops_sending() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            assert_eq!(sink.model(question()).await, Err(SinkError::Closed));
            Ok(())
        })
    });
    host.expect(EventKind::EventModelCall).await;
    host.run.close();
    assert_eq!(host.expect_failed().await, SinkError::Closed.to_string());
}

#[tokio::test]
async fn run_that_needs_no_answer_ends_well_after_the_host_stopped_sending() {
    let mut host = Host::running(|_, sink| Box::pin(async move { Ok(sink.output(text("hi")).await?) }));
    host.run.close();
    host.expect(EventKind::EventOutput).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn frames_after_the_end_are_ignored() {
    let mut host = Host::running(|_, _| Box::pin(async { Err(Failure::new("over")) }));
    assert_eq!(host.expect_failed().await, "over");
    host.send(answer("m1"));
    host.run.deliver(ControllerFrame::default());
    assert_eq!(host.event().await, None);
}

#[test]
fn start_frame_becomes_the_turn() {
    let start = Start {
        config: vec![7],
        history: vec![Event::default()],
        inputs: vec![Message::default()],
        resume_from_seq: 3,
        ..Start::default()
    };
    let turn = Turn::from_frame(envelope(Frame::Start(start))).unwrap().with_request_id("r");
    assert_eq!((turn.session(), turn.execution(), turn.request_id()), ("sess-1", "e1", "r"));
    assert_eq!((turn.config(), turn.history().len(), turn.inputs().len()), (&[7][..], 1, 1));
    assert_eq!(turn.resume_from_seq(), 3);
}

#[test]
fn stream_that_does_not_begin_with_a_start_is_refused() {
    let start = ControllerFrame { frame: Some(Frame::Start(Start::default())), ..ControllerFrame::default() };
    let cases = [
        (start, Violation::NoExecution),
        (envelope(answer("m1")), Violation::NoStart("model")),
        (ControllerFrame::default(), Violation::NoStart("empty")),
    ];
    for (first, violation) in cases {
        assert_eq!(Turn::from_frame(first).unwrap_err(), violation);
    }
}
