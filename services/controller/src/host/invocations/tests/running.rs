//! Invocations that nothing disturbs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;

use journal::invocations::{InputChange, NewInput, Owner, StreamId, Terminal, Volume};
use sha2::{Digest, Sha256};
use store::fault::{Fault, FaultPlan};
use wire::EventKind::{EventEnd, EventExecutionStart, EventInput, EventOutput};
use wire::event::Body;
use wire::file_part::Source;
use wire::part::Part;
use wire::stream_frame::Frame;
use wire::{Message, StreamFrame};

use super::*;
use crate::testing::agents::{Said, credit, ended, item, says, stream, string, tokens};
use crate::testing::client::{provisional, reference};

#[tokio::test(start_paused = true)]
async fn items_go_through_the_agent_and_come_out_in_order() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a", "b"])).await;
    client.has_output(2).await;
    client.send(2, &texts(&["c"])).await;
    client.end(3).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a", "b", "c"]));
    assert!(client.streams().await.iter().all(|stream| stream.progress.terminal == Some(Terminal::Ended)));
}

#[tokio::test(start_paused = true)]
async fn the_log_says_what_was_invoked_and_returned_and_accounts_for_every_stream() {
    let agents = Agents::new(echo);
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Octets).await;
    let octets = |octets: &'static [u8]| FrameItem::Octets(Bytes::from_static(octets));
    client.send(0, &[octets(b"ab"), octets(b"cde")]).await;
    client.end(5).await;
    client.outcome().await;

    let kinds = [EventExecutionStart, EventInput, EventOutput, EventOutput, EventEnd];
    assert_eq!(place.kinds(&client.session).await, kinds);
    let log = place.log(&client.session).await;
    assert!(log.iter().all(|event| event.execution_id == format!("inv-{}", client.id)));
    let parts = |event: &Event| match &event.body {
        Some(Body::Message(message)) => message.parts.iter().filter_map(|part| part.part.clone()).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let Part::Data(input) = &parts(&log[1])[0] else { panic!("it is data") };
    let told = &input.data.as_ref().unwrap().fields;
    let names: Vec<_> = told.keys().map(String::as_str).collect();
    assert_eq!(names, ["agentType", "idempotencyKey", "method", "methodParameters"]);
    let digest = format!("sha256:{}", hex::encode(Sha256::digest("abcde")));
    let files = parts(&log[3]).into_iter().filter_map(|part| match part {
        Part::File(file) => Some(file),
        _ => None,
    });
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| file.digest == digest), "{files:?}");
    let uris: Vec<_> = client.streams().await.iter().map(|stream| format!("stream:{}", stream.progress.id)).collect();
    let told: Vec<_> = files.iter().map(|file| file.source.clone()).collect();
    assert_eq!(told, uris.into_iter().map(|uri| Some(Source::Uri(uri))).collect::<Vec<_>>());
    assert_eq!(tokens(&agents.last().method_parameters), [client.input.to_string()], "inputs are named by their ids");
}

#[tokio::test(start_paused = true)]
async fn a_method_without_result_and_streams_leaves_no_account_of_any() {
    let agents = Agents::new(|_| says([Said::Return(String::new()), Said::Completed]));
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Nothing).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(place.kinds(&client.session).await, [EventExecutionStart, EventInput, EventOutput, EventEnd]);
}

/// Commits take as long as on a disk, so that the harness has closed its stream before its return is durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_ends_before_its_return_is_durable_ends_once() {
    let said = [Said::Return(stream("out")), item("out", 0, string("a")), ended("out"), Said::Completed];
    let slow = FaultPlan { delay: 1.0, longest_delay: Duration::from_millis(20), ..FaultPlan::none(1) };
    let engine = Fault::new(Memory::default(), slow);
    let place = Place::new(engine, &Switchboard::default(), 1, &Agents::new(move |_| says(said.clone()))).await;
    let client = place.start(1, "k", Kind::Strings).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    let kinds = [EventExecutionStart, EventInput, EventOutput, EventOutput, EventEnd];
    assert_eq!(place.kinds(&client.session).await, kinds);
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_beside_its_streams_is_recorded_as_in_any_turn() {
    let output = Body::Message(Message::text("assistant", "by the way"));
    let said = [Said::Event(EventOutput, output.clone()), Said::Return(String::new()), Said::Completed];
    let place = Place::alone(&Agents::new(move |_| says(said.clone()))).await;
    let client = place.start(1, "k", Kind::Nothing).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(place.log(&client.session).await[2].body, Some(output));
}

#[tokio::test(start_paused = true)]
async fn much_goes_through_with_little_credit() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Octets).await;
    let block: Vec<u8> = (0..1 << 18).map(|number: u32| number as u8).collect();
    let blocks = vec![FrameItem::Octets(block.clone().into()); 24];
    client.send(0, &blocks).await;
    client.end(24 << 18).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, [FrameItem::Octets(block.repeat(24).into())]);
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_was_handed_is_noted_and_a_run_that_begins_again_takes_nothing_back() {
    let breaks = Arc::new(AtomicBool::new(false));
    let agents = Agents::new({
        let breaks = Arc::clone(&breaks);
        move |invocation| {
            let (breaks, input) = (Arc::clone(&breaks), tokens(&invocation.method_parameters).remove(0));
            let mut grants = Some(credit(&input, 1 << 30));
            Box::new(move |_| if breaks.load(Ordering::Relaxed) { Some(Said::Breaks) } else { grants.take() })
        }
    });
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Octets).await;
    let block = FrameItem::Octets(vec![b'x'; 1 << 18].into());
    client.send(0, &vec![block.clone(); 24]).await;
    let handed = Volume { entries: 24, charge: 24 << 18 };
    client.is_handed(handed).await;

    // Without credit it is handed as much as any harness is at first.
    agents.follow(|_| says([]));
    breaks.store(true, Ordering::Relaxed);
    while agents.invoked().len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.send(24 << 18, &[block]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    client.is_handed(handed).await;
}

#[tokio::test(start_paused = true)]
async fn invocations_of_an_instance_run_one_after_the_other_and_those_of_others_meanwhile() {
    let agents = Agents::new(echo);
    let place = Place::alone(&agents).await;
    let first = place.start(1, "first", Kind::Strings).await;
    let second = place.start(1, "second", Kind::Strings).await;
    let third = place.start(1, "third", Kind::Strings).await;
    let other = place.start(2, "other", Kind::Strings).await;
    for client in [&third, &second, &other] {
        client.send(0, &texts(&["x"])).await;
        client.end(1).await;
    }
    assert_eq!(other.outcome().await, Outcome::Success);
    assert!(agents.invoked().iter().all(|key| key == "first" || key == "other"));
    first.end(0).await;
    for client in [&first, &second, &third] {
        assert_eq!(client.outcome().await, Outcome::Success);
    }
    let order: Vec<_> = agents.invoked().into_iter().filter(|key| key != "other").collect();
    assert_eq!(order, ["first", "second", "third"]);
    assert_eq!(first.session, third.session);
}

#[tokio::test(start_paused = true)]
async fn nested_streams_go_both_ways() {
    // It gives the streams in its items back, under names of its own.
    let agents = Agents::new(|invocation| {
        let outer = tokens(&invocation.method_parameters).remove(0);
        let mut out = VecDeque::from([Said::Return(stream("out"))]);
        Box::new(move |told| {
            for StreamFrame { stream: name, frame } in told.drain(..) {
                match frame.expect("a frame") {
                    Frame::Item(_) if name == outer => out.push_back(item("out", 0, stream("inner"))),
                    Frame::End(_) if name == outer => out.extend([ended("out"), Said::Completed]),
                    Frame::Item(item) => out.push_back(Said::Frame("inner".into(), Frame::Item(item))),
                    Frame::End(_) => out.push_back(ended("inner")),
                    Frame::Cancel(_) | Frame::Credit(_) => {}
                }
            }
            out.pop_front()
        })
    });
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Nested).await;
    let nested = provisional("nested");
    let element = r#"{"kind":"string","value":{}}"#.to_owned();
    let new = NewInput { provisional: nested, element, fingerprint: [0; 32] };
    let put = InputChange::Put { first: 0, item: FrameItem::Value(reference(nested)), charge: 1, streams: vec![new] };
    client.change(client.input, put).await;
    let inner = StreamId::input(client.id, nested);
    let put = InputChange::Put { first: 0, item: text("deep"), charge: 1, streams: Vec::new() };
    client.change(inner, put).await;
    client.change(inner, InputChange::End(1)).await;
    client.has_output(1).await;
    let outer = StreamId::output(client.id, &Owner::Result, 0);
    let within = StreamId::output(client.id, &Owner::Item(outer, 0), 0);
    assert_eq!(client.items(outer).await, [FrameItem::Value(stream(&within.to_string()))]);
    client.has_ended(within).await;
    client.end(1).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.items(within).await, texts(&["deep"]));
}

#[tokio::test(start_paused = true)]
async fn items_may_come_before_the_value_that_names_their_stream() {
    let agents = Agents::new(|_| {
        says([item("out", 0, string("early")), ended("out"), Said::Return(stream("out")), Said::Completed])
    });
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["early"]));
}

#[tokio::test(start_paused = true)]
async fn lost_news_cost_time_and_nothing_else() {
    let board = Switchboard::default();
    board.loses_news();
    let place = Place::new(Memory::default(), &board, 1, &Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    client.end(1).await;
    assert_eq!(client.outcome().await, Outcome::Success);
}
