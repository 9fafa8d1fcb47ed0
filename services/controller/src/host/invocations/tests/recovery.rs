//! Invocations that are interrupted, at every place.

use std::sync::Mutex;
use std::time::Duration;

use journal::invocations::Terminal;
use store::fault::{CrashPoint, Fault, FaultPlan};
use tokio::time::Instant;
use tracing::subscriber::DefaultGuard;
use wire::EventKind::{EventEnd, EventError, EventExecutionStart, EventInput, EventLifecycle, EventOutput};

use super::*;
use crate::testing::agents::{Said, ended, item, says, stream, string};

const ITEMS: [&str; 3] = ["a", "b", "c"];

/// An agent that says these items and is cut off after so many things that it said.
fn cut_off(after: usize, by: Said) -> Agents {
    let mut said = speech(&ITEMS);
    said.truncate(after);
    said.push(by);
    Agents::new(move |_| says(said.clone()))
}

fn speech(items: &[&str]) -> Vec<Said> {
    let items = items.iter().enumerate().map(|(sequence, text)| item("out", sequence as i64, string(text)));
    let mut said: Vec<_> = [Said::Return(stream("out"))].into_iter().chain(items).collect();
    said.extend([ended("out"), Said::Completed]);
    said
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_stream_breaks_anywhere_is_run_again_and_every_item_comes_once() {
    // One that closes its stream after the end of its output has ended well.
    let breaks = (0..=5).map(|after| (after, Said::Breaks));
    for (after, by) in breaks.chain((0..=4).map(|after| (after, Said::Closes))) {
        let agents = cut_off(after, by);
        let place = Place::alone(&agents).await;
        let client = place.start(1, "k", Kind::Strings).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        agents.follow(|_| says(speech(&ITEMS)));
        assert_eq!(client.outcome().await, Outcome::Success, "after {after}");
        assert_eq!(client.output().await, texts(&ITEMS), "after {after}");
        let kinds: Vec<_> = place.kinds(&client.session).await.into_iter().filter(|kind| *kind != EventError).collect();
        let expected = [EventExecutionStart, EventInput, EventOutput, EventOutput, EventEnd, EventLifecycle];
        assert_eq!(kinds, expected, "after {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_says_something_else_the_second_time_fails_and_nothing_of_it_is_recorded() {
    let others = [
        ("another item", speech(&["a", "x", "c"])),
        ("fewer items", speech(&["a"])),
        ("an end instead", speech(&[])),
        ("another return", vec![Said::Return(String::new())]),
        ("no return", vec![Said::Completed]),
    ];
    for (name, other) in others {
        let agents = cut_off(3, Said::Breaks);
        let place = Place::alone(&agents).await;
        let client = place.start(1, "k", Kind::Strings).await;
        client.has_output(2).await;
        agents.follow(move |_| says(other.clone()));
        assert_eq!(client.outcome().await, failure(), "{name}");
        assert_eq!(client.output().await, texts(&["a", "b"]), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_divergence_is_told_in_the_log_of_the_node_without_what_was_sent() {
    let lines = Lines::default();
    let _guard = lines.subscribe();
    let agents = cut_off(3, Said::Breaks);
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.has_output(2).await;
    agents.follow(|_| says(speech(&["a", "surprise", "c"])));
    assert_eq!(client.outcome().await, failure());
    let warnings = lines.text().lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect::<Vec<_>>();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    let stream = client.outputs().await[0].progress.id.to_string();
    for told in [client.session.as_str(), &client.id.to_string(), &stream, "diverged"] {
        assert!(warning.contains(told), "{told} is not in {warning}");
    }
    assert!(!lines.text().contains("surprise"), "{}", lines.text());
}

#[tokio::test(start_paused = true)]
async fn an_invocation_that_its_agent_fails_is_one_line_in_the_log_of_the_node() {
    let begun = Said::Return(stream("out"));
    let ends = [
        (vec![begun.clone(), Said::Failed], "harness ended the turn as failed"),
        (vec![begun, Said::Garbage], "harness failed"),
        (vec![Said::Return(string("secret"))], "harness sent a value that is none of its type"),
    ];
    for (said, reason) in ends {
        let lines = Lines::default();
        let _guard = lines.subscribe();
        let place = Place::alone(&Agents::new(move |_| says(said.clone()))).await;
        let client = place.start(1, "k", Kind::Strings).await;
        assert_eq!(client.outcome().await, failure());
        let text = lines.text();
        let told: Vec<_> = text.lines().filter(|line| line.contains("invocation has failed")).collect();
        let [line] = told.as_slice() else { panic!("{text}") };
        for told in ["INFO", client.session.as_str(), &client.id.to_string(), r#""method":"echo""#, reason] {
            assert!(line.contains(told), "{told} is not in {line}");
        }
        assert!(!text.contains("secret"), "{text}");
    }
}

/// What is logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn subscribe(&self) -> DefaultGuard {
        let lines = self.clone();
        tracing::subscriber::set_default(tracing_subscriber::fmt().json().with_writer(move || lines.clone()).finish())
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_harness_is_recorded_once_and_the_next_one_again() {
    let agents = Agents::new(|_| says([Said::Breaks]));
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(agents.invoked().len() > 10, "it is tried again");
    assert_eq!(place.kinds(&client.session).await, [EventExecutionStart, EventInput, EventError]);
    agents.follow(|_| says([Said::Return(stream("out")), Said::Breaks]));
    tokio::time::sleep(Duration::from_secs(100)).await;
    let expected = [EventExecutionStart, EventInput, EventError, EventOutput, EventError];
    assert_eq!(place.kinds(&client.session).await, expected);
    agents.follow(|_| says(speech(&ITEMS)));
    assert_eq!(client.outcome().await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn a_harness_that_breaks_the_protocol_is_not_tried_again() {
    let agents = Agents::new(|_| says([Said::Return(stream("out")), Said::Garbage]));
    let place = Place::alone(&agents).await;
    let begun = Instant::now();
    let client = place.start(1, "k", Kind::Strings).await;
    assert_eq!(client.outcome().await, failure());
    assert!(begun.elapsed() < Duration::from_secs(1) && agents.invoked().len() == 1);
    assert_eq!(place.kinds(&client.session).await.last(), Some(&EventError));
}

#[tokio::test(start_paused = true)]
async fn how_octets_are_cut_the_second_time_means_nothing() {
    use crate::testing::agents::octets;
    let begin = || Said::Return(stream("out"));
    let agents = Agents::new(move |_| says([begin(), octets("out", 0, b"abc"), octets("out", 3, b"de"), Said::Breaks]));
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Octets).await;
    client.has_output(5).await;
    agents.follow(move |_| {
        says([begin(), octets("out", 0, b"a"), octets("out", 1, b"bcdefg"), ended("out"), Said::Completed])
    });
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, [FrameItem::Octets((&b"abcdefg"[..]).into())]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_told_again_at_the_place_where_it_was_told_first() {
    let agents = Agents::new(|_| says([Said::Return(stream("out")), item("out", 0, string("a"))]));
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.has_output(1).await;
    let output = client.outputs().await[0].progress.id;
    client.journal.cancel_output(&client.lease, output, "cancelled").await.unwrap();
    agents.follow(|_| {
        let mut said: Vec<_> = vec![item("out", 0, string("a")), Said::Return(stream("out"))];
        Box::new(move |told| {
            said.pop().or_else(|| {
                let cancelled =
                    told.iter().any(|frame| matches!(frame.frame, Some(wire::stream_frame::Frame::Cancel(_))));
                told.clear();
                cancelled.then_some(Said::Completed)
            })
        })
    });
    // The first one says nothing more; another node takes over.
    let other = place.beside(&agents).await;
    other.journal.reap(place.journal.incarnation()).await.unwrap();
    other.host.drive(&client.session);
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a"]));
    let terminal = client.outputs().await[0].progress.terminal.clone();
    assert_eq!(terminal, Some(Terminal::CancelledByClient("cancelled".into())));
}

#[tokio::test(start_paused = true)]
async fn a_harness_that_cannot_be_reached_is_waited_for_and_after_five_minutes_no_more() {
    let agents = Agents::new(echo);
    agents.set_reachable(false);
    let place = Place::alone(&agents).await;
    let begun = Instant::now();
    let (first, second) = (place.start(1, "first", Kind::Strings).await, place.start(1, "second", Kind::Strings).await);
    assert_eq!(first.outcome().await, super::super::finish::internal_error());
    assert!((300..310).contains(&begun.elapsed().as_secs()));
    agents.set_reachable(true);
    second.end(0).await;
    assert_eq!(second.outcome().await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_waits_for_its_client_may_wait_for_ever_and_no_other() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    client.end(0).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    let silent = Place::alone(&Agents::new(|_| says([Said::Return(stream("out"))]))).await;
    let client = silent.start(1, "k", Kind::Strings).await;
    client.end(0).await;
    assert_eq!(client.outcome().await, failure(), "it was given its input, and says nothing");
}

/// What is seen of an invocation from outside, and how its host failed on the way.
async fn with_crash(commit: u64, point: CrashPoint, dies: bool) -> bool {
    let (memory, board, agents) = (Memory::default(), Switchboard::default(), Agents::new(echo));
    let client_side = Place::new(memory.clone(), &board, 1, &agents).await;
    let fault = Fault::new(memory.clone(), FaultPlan::crash_at(1, commit, point));
    let first = Place::new(fault.clone(), &board, 2, &agents).await;
    let client = Client::start(&client_side.journal, 1, "k", Kind::Strings).await;
    // It is accepted by another node, which leaves it to the one that crashes.
    let run = client_side.journal.claim_run(&client.session).await.unwrap().expect("it is to drive it");
    client_side.journal.release_run(&run).await.unwrap();
    first.host.drive(&client.session);
    client.send(0, &texts(&ITEMS)).await;
    client.end(3).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let crashed = fault.is_crashed();
    if dies {
        first.tasks.shutdown(Duration::ZERO, Duration::from_secs(1)).await;
        client_side.journal.reap(first.journal.incarnation()).await.unwrap();
        client_side.host.drive(&client.session);
    } else {
        fault.revive();
        first.host.drive(&client.session);
    }
    assert_eq!(client.outcome().await, Outcome::Success, "{commit} {point:?} {dies}");
    assert_eq!(client.output().await, texts(&ITEMS), "{commit} {point:?} {dies}");
    let log = client_side.kinds(&client.session).await;
    let count = |kind| log.iter().filter(|&&found| found == kind).count();
    let counts = [EventExecutionStart, EventInput, EventOutput, EventEnd].map(count);
    assert_eq!(counts, [1, 1, 2, 1], "{commit} {point:?} {dies}: {log:?}");
    crashed
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_or_after_any_commit_loses_nothing_and_doubles_nothing() {
    for point in [CrashPoint::Before, CrashPoint::After] {
        for dies in [true, false] {
            let mut commits = 0;
            while with_crash(commits, point, dies).await {
                commits += 1;
            }
            assert!(commits > 6, "there were only {commits}");
        }
    }
}
