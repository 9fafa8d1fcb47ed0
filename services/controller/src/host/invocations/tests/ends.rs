//! How invocations and their streams end, if not as everybody wished.

use std::time::Duration;

use journal::invocations::{InputChange, Terminal};
use tokio::time::Instant;
use wire::EventKind::{EventEnd, EventError};
use wire::stream_frame::Frame;
use wire::{CancelRequest, StreamCancel, StreamEnd};

use super::*;
use crate::testing::agents::{Said, credit, ended, item, octets, says, stream, string, tokens};

fn failed_by(reason: &str) -> Option<Terminal> {
    Some(Terminal::CancelledByServer(reason.into()))
}

/// Runs an invocation of an agent that says this.
async fn run(said: &[Said]) -> (Place, Client) {
    let said = said.to_vec();
    let place = Place::alone(&Agents::new(move |_| says(said.clone()))).await;
    let client = place.start(1, "k", Kind::Strings).await;
    (place, client)
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_fails_ends_its_invocation_and_all_streams_and_what_it_said_before_stays() {
    let said = [Said::Return(stream("out")), item("out", 0, string("a")), Said::Failed];
    let (place, client) = run(&said).await;
    assert_eq!(client.outcome().await, failure());
    assert_eq!(client.output().await, texts(&["a"]));
    for stream in client.streams().await {
        assert_eq!(stream.progress.terminal, failed_by("invocation-failed"));
    }
    assert!(place.journal.invocation(&client.session, client.id).await.unwrap().unwrap().returned.is_some());
    assert_eq!(place.kinds(&client.session).await.last(), Some(&EventError));
}

#[tokio::test(start_paused = true)]
async fn the_next_invocation_of_the_queue_runs_after_one_that_failed() {
    let agents = Agents::new(|_| says([Said::Failed]));
    let place = Place::alone(&agents).await;
    let first = place.start(1, "first", Kind::Strings).await;
    assert_eq!(first.outcome().await, failure());
    agents.follow(echo);
    let second = place.start(1, "second", Kind::Strings).await;
    second.end(0).await;
    assert_eq!(second.outcome().await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_protocol_fails_the_invocation() {
    let returned = || Said::Return(stream("out"));
    let frame = |name: &str, frame| Said::Frame(name.into(), frame);
    let table: Vec<Vec<Said>> = vec![
        vec![Said::Completed],
        vec![returned(), Said::Completed],
        vec![returned(), returned()],
        vec![Said::Return(String::new())],
        vec![Said::Return(string("no stream"))],
        vec![Said::Return("no json".into())],
        vec![returned(), item("out", 1, string("a"))],
        vec![returned(), item("out", 0, r#"{"kind":"bool","value":true}"#)],
        vec![returned(), item("out", 0, "no json")],
        vec![returned(), octets("out", 0, b"a")],
        vec![returned(), item("out", 0, string("a")), item("out", 0, string("a"))],
        vec![returned(), ended("out"), item("out", 0, string("a"))],
        vec![returned(), ended("out"), ended("out")],
        vec![returned(), credit("out", 1)],
        vec![returned(), frame("out", Frame::Cancel(StreamCancel::default()))],
        vec![item("x", 0, string(&"a".repeat(2 << 20))), item("x", 1, string("b"))],
    ];
    for said in table {
        let (place, client) = run(&said).await;
        assert_eq!(client.outcome().await, failure(), "{said:?}");
        assert_eq!(place.kinds(&client.session).await.last(), Some(&EventError), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn writing_to_an_input_fails_the_invocation() {
    let agents = Agents::new(|invocation| {
        let input = tokens(&invocation.method_parameters).remove(0);
        says([item(&input, 0, string("a"))])
    });
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    assert_eq!(client.outcome().await, failure());
}

#[tokio::test(start_paused = true)]
async fn an_output_that_ends_with_an_error_fails_nothing_else() {
    let end = Frame::End(StreamEnd { error: Some("no more paper".into()) });
    let said = [Said::Return(stream("out")), Said::Frame("out".into(), end), Said::Completed];
    let (_place, client) = run(&said).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    let terminal = Terminal::Error { code: "producer-error".into(), message: "no more paper".into() };
    assert_eq!(client.outputs().await[0].progress.terminal, Some(terminal));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_ends_with_a_long_error_has_the_beginning_of_it() {
    let end = Frame::End(StreamEnd { error: Some("ä".repeat(1 << 20)) });
    let said = [Said::Return(stream("out")), Said::Frame("out".into(), end), Said::Completed];
    let (_place, client) = run(&said).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    let terminal = Terminal::Error { code: "producer-error".into(), message: "ä".repeat(32 << 10) };
    assert_eq!(client.outputs().await[0].progress.terminal, Some(terminal));
}

#[tokio::test(start_paused = true)]
async fn an_item_that_no_message_can_carry_ends_its_stream_alone() {
    // Too much to be charged, and more than a message once its characters are escaped.
    for large in ["a".repeat(17 << 20), "\\u0001".repeat(6 << 20)] {
        let said = [Said::Return(stream("out")), item("out", 0, string(&large)), Said::Completed];
        let (_place, client) = run(&said).await;
        assert_eq!(client.outcome().await, Outcome::Success);
        let terminal = client.outputs().await[0].progress.terminal.clone();
        assert!(matches!(terminal, Some(Terminal::Error { code, .. }) if code == "resource-exhausted"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_the_agent_does_not_read_to_its_end_is_dropped() {
    let agents = Agents::new(|invocation| {
        let input = tokens(&invocation.method_parameters).remove(0);
        let drop = Said::Frame(input, Frame::Cancel(StreamCancel { reason: "consumer-drop".into() }));
        let mut out = vec![drop];
        Box::new(move |told| told.pop_front().and_then(|_| out.pop()))
    });
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_ended(client.input).await;
    assert_eq!(client.streams().await[0].progress.terminal, failed_by("consumer-drop"));
}

#[tokio::test(start_paused = true)]
async fn inputs_that_are_open_when_the_agent_has_ended_are_dropped() {
    let said = [Said::Return(stream("out")), ended("out"), Said::Completed];
    let (_place, client) = run(&said).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    let input = client.streams().await.into_iter().find(|stream| stream.progress.id == client.input).unwrap();
    assert_eq!(input.progress.terminal, failed_by("consumer-drop"));
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_told_of_an_input_that_the_client_cancels_after_its_items() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.change(client.input, InputChange::Cancel("source-unavailable".into())).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a"]));
    let error = Terminal::Error { code: "producer-error".into(), message: "source-unavailable".into() };
    assert_eq!(client.outputs().await[0].progress.terminal, Some(error));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_the_client_does_not_want_ends_and_the_agent_is_told() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    let output = client.outputs().await[0].progress.id;
    client.journal.cancel_output(&client.lease, output, "cancelled").await.unwrap();
    assert_eq!(client.outcome().await, Outcome::Success);
    let terminal = client.outputs().await[0].progress.terminal.clone();
    assert_eq!(terminal, Some(Terminal::CancelledByClient("cancelled".into())));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_canceled_fails_its_invocation() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    let request = CancelRequest { session: client.session.to_string(), ..CancelRequest::default() };
    // The scripted agent does not stop when it is told to; it is cut off.
    place.host.cancel(request).await.unwrap();
    assert_eq!(client.outcome().await, failure());
    assert!(place.kinds(&client.session).await.contains(&EventEnd));
}

#[tokio::test(start_paused = true)]
async fn invocations_that_follow_one_another_do_not_wait() {
    let agents = Agents::new(|_| says([Said::Return(stream("out")), ended("out"), Said::Completed]));
    let place = Place::alone(&agents).await;
    let begun = Instant::now();
    for number in 1..=8 {
        let client = place.start(1, &number.to_string(), Kind::Strings).await;
        assert_eq!(client.outcome().await, Outcome::Success);
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
