//! Whatever a host sends.

use std::task::Poll;

use futures::StreamExt;
use futures::executor::block_on;
use proptest::prelude::*;
use wire::controller_frame::Frame;
use wire::{Cancel, ControllerFrame, Event, EventKind, Start};

use super::actors::{EXECUTION, Host, SESSION, answer, call, decision, park, question, receipt, result};

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

/// A run that asks for everything, answered with `frames` in turn and then with nothing more.
async fn converse(frames: Vec<(usize, ControllerFrame)>) -> Vec<Event> {
    let Host { mut run } = Host::running(|_, sink| {
        Box::pin(async move {
            sink.model(question()).await?;
            sink.tool(call()).await?;
            sink.gated(call()).await?;
            Ok(())
        })
    });
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

proptest! {
    #[test]
    fn run_ends_exactly_once_whatever_its_host_sends(frames in prop::collection::vec((1_usize..4, any_frame()), 0..12)) {
        let events = block_on(converse(frames));
        let ends = |event: &Event| matches!(event.kind(), EventKind::EventEnd | EventKind::EventParked);
        prop_assert_eq!(events.iter().filter(|event| ends(event)).count(), 1);
        prop_assert!(events.last().is_some_and(ends));
        prop_assert!(events.iter().all(|event| event.execution_id == EXECUTION));
    }
}
