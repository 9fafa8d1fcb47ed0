//! Several processes on one file, and processes that are killed.
//!
//! The children are this test binary again, told by the environment to run the `child` test as a writer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use env::{Env, TaskKind, Tasks};
use futures::FutureExt;
use store::embedded::{Embedded, EmbeddedOptions};
use store::{Engine, Isolation, KeyRange, RangeRead, Store, TransactError};
use tokio::time::Instant;

const SESSIONS: u64 = 64;
const PATH: &str = "STORE_TEST_PATH";
const MILLISECONDS: &str = "STORE_TEST_MILLISECONDS";
/// How long the values are that are written beside the records.
const PADDING: &str = "STORE_TEST_PADDING";

/// A record that a child was told is durable.
type Acknowledged = (u64, u64, String);

fn start_child(path: &Path, time: Duration) -> Child {
    start_child_with(path, time, 0)
}

fn start_child_with(path: &Path, time: Duration, padding: usize) -> Child {
    Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .env(MILLISECONDS, time.as_millis().to_string())
        .env(PADDING, padding.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start a child")
}

/// Reads what `child` acknowledges until it ends, or is killed after `kill_after` records.
fn collect(child: &mut Child, kill_after: Option<usize>) -> Vec<Acknowledged> {
    let lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut acknowledged = Vec::new();
    for line in lines.map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["appended", session, seq, id] = words[..] {
            acknowledged.push((session.parse().expect("session"), seq.parse().expect("seq"), id.to_owned()));
        }
        if kill_after == Some(acknowledged.len()) {
            child.kill().expect("kill");
        }
    }
    let status = child.wait().expect("wait");
    assert_eq!(status.success(), kill_after.is_none());
    acknowledged
}

/// Appends to random sessions until its time is over; says so of each record once it is durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let (Ok(path), Ok(milliseconds)) = (std::env::var(PATH), std::env::var(MILLISECONDS)) else { return };
    let end = Instant::now() + Duration::from_millis(milliseconds.parse().expect("milliseconds"));
    let padding = std::env::var(PADDING).map_or(0, |padding| padding.parse().expect("a length"));
    let engine = Embedded::open(path, EmbeddedOptions::default()).expect("open");
    let env = Env::system();
    let store = Store::new(engine.clone(), env.clone());
    let tasks = Tasks::default();
    for _ in 0..8 {
        let (store, env) = (store.clone(), env.clone());
        tasks.spawn("writer", TaskKind::Request, async move {
            while Instant::now() < end {
                let (session, id) = (env.random_u64() % SESSIONS, env::request_id(&env));
                let seq = append(&store, session, &id, padding).await.expect("append");
                println!("appended {session} {seq} {id}");
            }
        });
    }
    assert_eq!(tasks.shutdown(Duration::from_secs(60), Duration::ZERO).await, 0, "a writer is stuck");
    engine.close().await;
}

async fn append(store: &Store, session: u64, id: &str, padding: usize) -> Result<u64, TransactError<()>> {
    let id = id.to_owned();
    store
        .transact(move |transaction, _| {
            let id = id.clone();
            async move {
                let head = transaction.get(&head_key(session)).await?;
                let seq = head.map_or(0, |head| u64::from_be_bytes(head[..].try_into().expect("eight bytes"))) + 1;
                transaction.set(&head_key(session), &seq.to_be_bytes());
                transaction.set(&record_key(session, seq), id.as_bytes());
                if padding > 0 {
                    transaction.set(&padding_key(session, seq), &vec![b'p'; padding]);
                }
                Ok(seq)
            }
            .boxed()
        })
        .await
}

fn head_key(session: u64) -> Vec<u8> {
    [&b"head"[..], &session.to_be_bytes()].concat()
}

fn record_key(session: u64, seq: u64) -> Vec<u8> {
    [&b"record"[..], &session.to_be_bytes(), &seq.to_be_bytes()].concat()
}

fn padding_key(session: u64, seq: u64) -> Vec<u8> {
    [&b"padding"[..], &session.to_be_bytes(), &seq.to_be_bytes()].concat()
}

/// Every record in the store, and that no log has a gap.
async fn records(path: &Path) -> BTreeMap<(u64, u64), String> {
    let engine = Embedded::open(path, EmbeddedOptions::default()).expect("open");
    let mut transaction = engine.begin().await.expect("begin");
    let mut found = BTreeMap::new();
    for session in 0..SESSIONS {
        let range = KeyRange::prefix(&[&b"record"[..], &session.to_be_bytes()].concat());
        let mut next = Some(RangeRead::forward(range));
        let mut expected = 1;
        while let Some(read) = next {
            let page = transaction.get_range(&read, Isolation::Snapshot).await.expect("read");
            for row in &page.rows {
                assert_eq!(row.key, record_key(session, expected), "a gap in session {session}");
                found.insert((session, expected), String::from_utf8(row.value.to_vec()).expect("text"));
                expected += 1;
            }
            next = read.after(&page);
        }
    }
    drop(transaction);
    engine.close().await;
    found
}

fn assert_all_found(acknowledged: &[Acknowledged], records: &BTreeMap<(u64, u64), String>) {
    for (session, seq, id) in acknowledged {
        assert_eq!(records.get(&(*session, *seq)), Some(id), "record {seq} of session {session}");
    }
    let mut ids: Vec<&String> = records.values().collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), records.len(), "a record is there twice");
}

#[tokio::test]
async fn eight_processes_lose_nothing_and_none_starves() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("store");
    let children: Vec<Child> = (0..8).map(|_| start_child(&path, Duration::from_secs(3))).collect();
    let readers: Vec<_> =
        children.into_iter().map(|mut child| std::thread::spawn(move || collect(&mut child, None))).collect();
    let each: Vec<Vec<Acknowledged>> = readers.into_iter().map(|reader| reader.join().expect("child")).collect();
    let counts: Vec<usize> = each.iter().map(Vec::len).collect();
    println!("records of each process: {counts:?}");
    let all = each.concat();
    assert_all_found(&all, &records(&path).await);
    let fair_share = all.len() / counts.len();
    assert!(counts.iter().all(|&count| count > fair_share / 10), "a process starved: {counts:?}");
}

#[tokio::test]
async fn a_killed_process_leaves_every_acknowledged_record() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("store");
    let mut acknowledged = Vec::new();
    for kill_after in [1, 2, 50, 200, 500] {
        let mut child = start_child(&path, Duration::from_secs(60));
        acknowledged.extend(collect(&mut child, Some(kill_after)));
        assert_all_found(&acknowledged, &records(&path).await);
    }
}

#[tokio::test]
async fn killing_one_process_does_not_disturb_another() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("store");
    let mut survivor = start_child(&path, Duration::from_secs(2));
    let survivor = std::thread::spawn(move || collect(&mut survivor, None));
    let mut acknowledged = Vec::new();
    for kill_after in [10, 100] {
        acknowledged.extend(collect(&mut start_child(&path, Duration::from_secs(60)), Some(kill_after)));
    }
    acknowledged.extend(survivor.join().expect("survivor"));
    assert_all_found(&acknowledged, &records(&path).await);
}

/// One process always has something to add to the write-ahead log while another copies the last of it.
#[tokio::test]
async fn the_log_of_several_processes_starts_anew_before_it_is_much_longer_than_one_keeps_it() {
    const BOUND: u64 = 256 << 20;
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("store");
    let mut children: Vec<Child> = (0..3).map(|_| start_child_with(&path, Duration::from_secs(6), 8 << 10)).collect();
    for child in &mut children {
        let lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    }
    let (log, mut longest) = (directory.path().join("store-wal"), 0);
    while children.iter_mut().any(|child| child.try_wait().expect("wait").is_none()) {
        longest = longest.max(std::fs::metadata(&log).map_or(0, |log| log.len()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(children.iter_mut().all(|child| child.wait().expect("wait").success()));
    let written = std::fs::metadata(&path).expect("store").len();
    println!("{written} bytes were written, through a log of {longest}");
    assert!(longest < BOUND, "{longest} bytes for {written}");
}
