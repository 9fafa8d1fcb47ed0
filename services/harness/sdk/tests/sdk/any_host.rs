//! Whatever a host sends.

use std::task::Poll;

use futures::StreamExt;
use futures::executor::block_on;
use proptest::prelude::*;
use sdk::{Input, Method, schema};
use wire::controller_frame::Frame;
use wire::stream_frame::Frame as Said;
use wire::stream_item::Item;
use wire::{Cancel, ControllerFrame, Event, EventKind, Start, StreamFrame, StreamItem};

use super::actors::{EXECUTION, Host, SESSION, answer, call, decision, envelope, park, question, receipt, result};
use super::invoking::{cancel, credit, end, invoke, item, record, stream, string, value_item};

fn any_frame() -> impl Strategy<Value = ControllerFrame> {
    let frame = prop_oneof![
        8 => Just(Some(answer("m1"))),
        4 => Just(Some(Frame::Tool(result("c1")))),
        4 => any::<bool>().prop_map(|approved| Some(Frame::Approval(decision(approved)))),
        4 => Just(Some(Frame::Tool(receipt()))),
        4 => Just(Some(Frame::Park(park()))),
        1 => Just(Some(answer("m2"))),
        1 => Just(Some(Frame::Cancel(Cancel::default()))),
        1 => Just(Some(Frame::Start(Start::default()))),
        1 => Just(None),
    ];
    let session = prop_oneof![9 => Just(SESSION), 1 => Just("sess-2")];
    let execution = prop_oneof![9 => Just(EXECUTION), 1 => Just("e2")];
    (session, execution, frame).prop_map(|(session, execution, frame)| ControllerFrame {
        session: session.into(),
        execution_id: execution.into(),
        frame,
    })
}

fn any_said() -> impl Strategy<Value = ControllerFrame> {
    let sequence = prop_oneof![Just(0), Just(1), Just(2), any::<i64>()];
    let said = prop_oneof![
        4 => (sequence, any::<bool>()).prop_map(|(sequence, is_text)| {
            if is_text { value_item(sequence, &string("x")) } else { item(sequence, Item::Octets(vec![0; 3])) }
        }),
        1 => Just(end()),
        1 => Just(cancel("cancelled")),
        2 => any::<i64>().prop_map(credit),
        1 => Just(Said::Item(StreamItem::default())),
    ];
    let stream = prop_oneof![4 => Just("in-1"), 4 => Just("output-1"), 1 => Just("output-2"), 1 => Just("other")];
    (stream, prop::option::weighted(0.95, said))
        .prop_map(|(stream, frame)| envelope(Frame::Stream(StreamFrame { stream: stream.into(), frame })))
}

/// A run that asks for everything.
fn asking() -> Host {
    Host::running(|_, sink| {
        Box::pin(async move {
            sink.model(question()).await?;
            sink.tool(call()).await?;
            sink.gated(call()).await?;
            Ok(())
        })
    })
}

/// An invocation that reads and writes as long as it can.
fn streaming() -> Host {
    let method = Method::new("m", schema::record([("in", schema::stream(schema::string()))]), async |mut call| {
        let mut input: Input<String> = call.parameter("in")?;
        let (outlet, mut output) = call.output();
        call.beside(async move {
            while let Some(item) = input.next().await {
                output.send(item?.repeat(1 << 19)).await?;
            }
            output.end();
            Ok(())
        });
        Ok(outlet)
    });
    invoke(method, &record(&[&stream("in-1")]))
}

/// A run that is answered with `frames` in turn and then with nothing more.
async fn converse(Host { mut run }: Host, frames: Vec<(usize, ControllerFrame)>) -> Vec<Event> {
    let (mut events, mut frames) = (Vec::new(), frames.into_iter());
    loop {
        match futures::poll!(run.next()) {
            Poll::Ready(Some(event)) => events.push(event),
            Poll::Ready(None) => return events,
            Poll::Pending => match frames.next() {
                Some((times, frame)) => (0..times).for_each(|_| run.deliver(frame.clone())),
                None => run.close(),
            },
        }
    }
}

fn check(events: &[Event]) -> Result<(), TestCaseError> {
    let ends = |event: &Event| matches!(event.kind(), EventKind::EventEnd | EventKind::EventParked);
    prop_assert_eq!(events.iter().filter(|event| ends(event)).count(), 1);
    prop_assert!(events.last().is_some_and(ends));
    prop_assert!(events.iter().all(|event| event.execution_id == EXECUTION));
    Ok(())
}

proptest! {
    #[test]
    fn run_ends_exactly_once_whatever_its_host_sends(frames in prop::collection::vec((1_usize..4, any_frame()), 0..12)) {
        let events = block_on(converse(asking(), frames));
        check(&events)?;
    }

    #[test]
    fn invocation_ends_exactly_once_whatever_its_host_says_of_streams(
        frames in prop::collection::vec((1_usize..3, any_said()), 0..12),
    ) {
        check(&block_on(converse(streaming(), frames)))?;
    }
}
