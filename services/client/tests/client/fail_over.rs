//! A client of several nodes.

use std::time::Duration;

use client::{Addresses, Client, Code, Options, Origin, Retry, SeqRange, Update};
use env::{TaskKind, Tasks};
use futures::{StreamExt, TryStreamExt};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::Status;
use tonic::transport::Server;
use wire::exec_update::Update as Frame;
use wire::sessions_server::SessionsServer;
use wire::{ApproveRequest, Event, EventKind, ExecRequest, ExecUpdate, ForkRequest, LogRecord, Session};

use crate::script::{Lost, Script, record};

/// Sockets in a directory of their own; what listens there stops with its `Tasks`.
struct Cluster {
    directory: TempDir,
    scripts: Vec<(Script, Tasks)>,
}

impl Cluster {
    fn of(scripts: impl IntoIterator<Item = Script>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let scripts = scripts.into_iter().enumerate().map(|(number, script)| {
            let socket = UnixListener::bind(directory.path().join(format!("{number}.sock"))).unwrap();
            let (tasks, service) = (Tasks::default(), SessionsServer::new(script.clone()));
            tasks.spawn("scripted node", TaskKind::Background, async move {
                let connections = UnixListenerStream::new(socket);
                Server::builder().add_service(service).serve_with_incoming(connections).await.unwrap();
            });
            (script, tasks)
        });
        let scripts = scripts.collect();
        Self { directory, scripts }
    }

    fn addresses(&self, nodes: usize) -> Addresses {
        let socket = |number| format!("unix:{}/{number}.sock", self.directory.path().display());
        (0..nodes).map(socket).collect::<Vec<_>>().join(",").parse().unwrap()
    }

    async fn client(&self) -> Client {
        Client::connect(&self.addresses(self.scripts.len())).await.unwrap()
    }

    fn calls(&self) -> Vec<usize> {
        self.scripts.iter().map(|(script, _)| script.with(|state| state.request_ids.len())).collect()
    }
}

fn losing(times: usize, lost: Lost) -> Script {
    Script::new(|state| (state.losing, state.lost) = (times, lost))
}

#[tokio::test]
async fn the_first_address_that_answers_is_connected_to() {
    let cluster = Cluster::of([Script::default()]);
    let addresses: Addresses = format!(
        "unix:{}/none.sock,{}",
        cluster.directory.path().display(),
        cluster.addresses(1).iter().next().unwrap()
    )
    .parse()
    .unwrap();
    let client = Client::connect(&addresses).await.unwrap();
    assert_eq!(client.get("s").await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn all_addresses_are_named_if_nothing_answers_at_any() {
    let cluster = Cluster::of([]);
    let Err(error) = Client::connect(&cluster.addresses(2)).await else { panic!("connected to nothing") };
    let text = error.to_string();
    assert!(text.contains("0.sock") && text.contains("; no connection to unix:") && text.contains("1.sock"), "{text}");
}

#[tokio::test]
async fn a_read_goes_on_at_the_next_node_and_stays_there() {
    let cluster = Cluster::of([losing(1, Lost::Broken), Script::default()]);
    let client = cluster.client().await;
    for _ in 0..3 {
        assert_eq!(client.get("s").await.unwrap_err().code(), Code::NotFound);
    }
    assert_eq!(cluster.calls(), [1, 3]);
}

#[tokio::test]
async fn a_replay_goes_on_at_its_cursor_at_the_next_node() {
    let ending = Script::new(|state| (state.records, state.interrupted_replays, state.interrupted_after) = (9, 1, 4));
    let whole = Script::new(|state| state.records = 9);
    let cluster = Cluster::of([ending, whole]);
    let records: Vec<_> = cluster.client().await.replay("s", SeqRange::ALL).into_stream().try_collect().await.unwrap();
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    assert_eq!(cluster.scripts[1].0.with(|state| state.replays_from.clone()), [5]);
}

#[tokio::test]
async fn calls_that_may_be_made_twice_are_and_others_only_where_no_node_has_begun_them() {
    for (lost, repeated) in [(Lost::Refused, true), (Lost::Broken, false)] {
        let cluster = Cluster::of([losing(1, lost), Script::default()]);
        assert_eq!(cluster.client().await.create(Session::default()).await.is_ok(), repeated, "create, {lost:?}");
        let cluster = Cluster::of([losing(1, lost), Script::default()]);
        assert_eq!(cluster.client().await.fork(ForkRequest::default()).await.is_ok(), repeated, "fork, {lost:?}");

        let cluster = Cluster::of([losing(1, lost), losing(1, lost)]);
        let client = cluster.client().await;
        let code = client.approve(ApproveRequest::default()).await.unwrap_err().code();
        assert_eq!(code, Code::FailedPrecondition, "a decision, {lost:?}");
        assert!(client.suspend("s").await.is_ok() && client.resume("s").await.is_ok(), "markers, {lost:?}");
    }
}

#[tokio::test]
async fn a_call_that_no_connection_took_goes_on_at_the_next_node_even_if_it_must_be_made_once() {
    let cluster = Cluster::of([Script::default(), Script::default()]);
    let client = cluster.client().await;
    let (_, stopped) = &cluster.scripts[0];
    stopped.shutdown(Duration::ZERO, Duration::ZERO).await;
    std::fs::remove_file(cluster.directory.path().join("0.sock")).unwrap();
    // The connection from before may take one more call down with it; after that there is none.
    let _ = client.get("s").await;
    client.create(Session::default()).await.unwrap();
}

fn turn_request() -> ExecRequest {
    ExecRequest { session: "s".into(), expected_last_seq: Some(0), ..ExecRequest::default() }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_no_node_begins_is_reported_after_as_many_attempts_as_any_call() {
    let script = Script::new(|state| state.exec_ends = Some(Status::unavailable("going away")));
    let updates: Vec<_> = script.client().exec(turn_request()).collect().await;
    assert!(matches!(&updates[..], [Err(error)] if error.code() == Code::Unavailable), "{updates:?}");
    assert_eq!(script.with(|state| state.request_ids.len()), Retry::default().attempts as usize + 1);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_no_node_finishes_is_reported_when_the_patience_is_over() {
    let start = Event::new(EventKind::EventExecutionStart, None).of_execution("0123456789abcdef");
    let script = Script::new(|state| {
        let record = LogRecord { event: Some(start), ..record(1) };
        state.updates = vec![ExecUpdate { update: Some(Frame::Record(record)) }];
        state.exec_ends = Some(Status::unavailable("going away"));
        (state.losing, state.lost) = (usize::MAX, Lost::Refused);
    });
    let begun = Instant::now();
    let updates: Vec<_> = script.client().exec(turn_request()).collect().await;
    let records = updates.iter().filter(|update| matches!(update, Ok(Update::Record(_)))).count();
    let pauses = updates.iter().filter(|update| matches!(update, Ok(Update::Moved(_)))).count();
    assert_eq!((records, pauses), (1, 1), "{updates:?}");
    assert!(matches!(updates.last(), Some(Err(error)) if error.code() == Code::Unavailable), "{updates:?}");
    let patience = Options::default().turn_patience;
    assert!((patience / 2..=patience).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn options_without_repetition_report_the_first_failure() {
    let cluster = Cluster::of([losing(1, Lost::Refused), Script::default()]);
    let mut options = Options::default();
    options.retry.attempts = 0;
    let client = Client::connect_with(&cluster.addresses(2), options).await.unwrap();
    assert_eq!(client.get("s").await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(client.get("s").await.unwrap_err().code(), Code::NotFound, "the next call is the next node's");
}

#[tokio::test]
async fn whatever_a_broken_connection_carried_its_node_is_named() {
    let cluster = Cluster::of([]);
    let _deaf = UnixListener::bind(cluster.directory.path().join("0.sock")).unwrap();
    let options = Options {
        keepalive: Duration::from_millis(50),
        retry: Retry { attempts: 0, ..Retry::default() },
        turn_patience: Duration::ZERO,
        ..Options::default()
    };
    let client = Client::connect_with(&cluster.addresses(1), options).await.unwrap();
    let mut exec = client.exec(turn_request());
    let (mut replay, mut watch) = (client.replay("s", SeqRange::ALL), client.watch("s", 0));
    let errors = [
        ("exec", timeout(Duration::from_secs(10), exec.next()).await.unwrap().unwrap().unwrap_err()),
        ("replay", timeout(Duration::from_secs(10), replay.next()).await.unwrap().unwrap_err()),
        ("watch", timeout(Duration::from_secs(10), watch.next()).await.unwrap().unwrap_err()),
    ];
    for (call, error) in errors {
        assert!(error.to_string().contains("0.sock: "), "{call}: {error}");
    }
}

/// A node that takes connections and says nothing is lost again and again, but not for ever.
#[tokio::test]
async fn a_call_is_bounded_however_often_it_is_made() {
    let cluster = Cluster::of([]);
    let _deaf = UnixListener::bind(cluster.directory.path().join("0.sock")).unwrap();
    let moment = Duration::from_millis(1);
    let options = Options {
        call_timeout: Duration::from_secs(1),
        keepalive: 50 * moment,
        retry: Retry { attempts: 1_000, first_pause: moment, longest_pause: moment },
        ..Options::default()
    };
    let client = Client::connect_with(&cluster.addresses(1), options).await.unwrap();
    let error = timeout(Duration::from_secs(10), client.get("s")).await.expect("an end").unwrap_err();
    assert_eq!(error.origin(), Origin::Transport, "{error}");
    assert!(error.to_string().contains("0.sock: "), "{error}");
}
