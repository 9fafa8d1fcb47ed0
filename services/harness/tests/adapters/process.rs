//! Programs that are started for each turn, with their state in a file. The program is `harnessnode`, which counts.

use std::path::PathBuf;

use controller::ports::{AcquireError, Compute, HarnessConnection, Runtime, SessionPoint};
use harness::{Process, Program, RemoteOptions};
use journal::SessionUid;
use tempfile::TempDir;
use wire::event::Body;
use wire::{ComputeState, Event, EventKind};

use super::actors::{Gates, play, turn};

fn runtime(directory: &TempDir, command: &str, args: &[&str]) -> Process {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    let program = Program { command: command.to_owned(), args, environment: Vec::new() };
    Process::new(program, directory.path().join("states"), RemoteOptions::default())
}

fn counter(directory: &TempDir) -> Process {
    let args = ["--kind", "counter", "--readyz", "127.0.0.1:0", "--stop-with-stdin"];
    runtime(directory, env!("CARGO_BIN_EXE_harnessnode"), &args)
}

/// A session before its first turn, or after one of those that the tests run: all of them have the same id.
fn point(session: &str, turns: bool) -> SessionPoint {
    SessionPoint { session: SessionUid::parse(session).expect("a uid"), last_turn: turns.then(|| turn().execution) }
}

async fn connect(compute: Compute) -> Box<dyn HarnessConnection> {
    let mut channel = compute.channel;
    assert_eq!(channel.describe().await.expect("a descriptor").id, "counter");
    channel.connect(turn()).await.expect("a connection")
}

fn text(event: &Event) -> Option<String> {
    match &event.body {
        Some(Body::Message(message)) => Some(message.text_content()),
        _ => None,
    }
}

/// What the harness says in a turn that ends well.
async fn count(compute: Compute) -> String {
    let events = play(connect(compute).await, Gates::Park).await;
    assert_eq!(events.last().map(Event::kind), Some(EventKind::EventEnd));
    events.iter().find_map(text).expect("an output")
}

#[tokio::test]
async fn state_is_kept_between_turns_and_restored_from_snapshots() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = counter(&directory);
    let (new, session) = (point("sess-1", false), point("sess-1", true));
    let create = async |of| runtime.create(of).await.expect("compute");
    let status = async || runtime.status(&session).await.expect("a status");
    assert_eq!((create(&new).await.remembers, status().await), (false, ComputeState::ComputeNone));
    assert_eq!(count(create(&new).await).await, "1");
    assert_eq!(count(create(&new).await).await, "1", "the log does not know of that turn");
    assert_eq!((create(&session).await.remembers, status().await), (true, ComputeState::ComputeLive));
    assert_eq!(count(create(&session).await).await, "2");

    let snapshot = runtime.snapshot(&session).await.expect("a snapshot");
    assert_eq!((snapshot.local.as_str(), snapshot.memory, snapshot.sealed), ("sess-1", true, false));
    assert!(snapshot.external_uri.starts_with("file:///"), "{}", snapshot.external_uri);
    assert_eq!(count(create(&session).await).await, "3");
    runtime.stop(&session.session).await.expect("a stop");
    assert_eq!(status().await, ComputeState::ComputeCold);
    for _ in 0..2 {
        let restored = runtime.restore(&session, &snapshot).await.expect("compute");
        assert!(restored.remembers);
        assert_eq!(count(restored).await, "3");
    }
    assert_eq!(count(create(&session).await).await, "4");

    let child = point("sess-2", false);
    runtime.fork(&snapshot, &child).await.expect("a clone");
    // The turns of the tests are all of the first session, so this one must not end.
    let mut connection = connect(create(&child).await).await;
    let output = connection.next().await.expect("a harness").expect("an event");
    assert_eq!(text(&output).as_deref(), Some("3"));
    drop(connection);
    assert_eq!(count(create(&session).await).await, "5");
}

#[tokio::test]
async fn a_turn_that_does_not_end_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let (runtime, session) = (counter(&directory), point("sess-1", false));
    let mut connection = connect(runtime.create(&session).await.expect("compute")).await;
    let output = connection.next().await.expect("a harness").expect("an event");
    assert_eq!(text(&output).as_deref(), Some("1"));
    drop(connection);
    assert_eq!(runtime.status(&session).await.expect("a status"), ComputeState::ComputeNone);
    assert_eq!(count(runtime.create(&session).await.expect("compute")).await, "1");
}

#[tokio::test]
async fn a_program_that_does_not_serve_is_unavailable() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing: PathBuf = directory.path().join("missing");
    for command in [missing.to_str().expect("a path"), "/bin/true"] {
        let refused = runtime(&directory, command, &[]).probe().await.err().expect("nobody serves");
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_kept_fails_the_turn() {
    let directory = tempfile::tempdir().expect("a directory");
    let (runtime, session) = (counter(&directory), point("sess-1", false));
    let compute = runtime.create(&session).await.expect("compute");
    std::fs::write(directory.path().join("states"), "in the way").expect("a file");
    let mut connection = connect(compute).await;
    connection.next().await.expect("a harness").expect("an output");
    let failure = connection.next().await.expect_err("the end is not passed on");
    assert!(!failure.to_string().contains(directory.path().to_str().expect("a path")), "{failure}");
}
