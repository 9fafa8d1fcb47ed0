//! Forks share their parent's log and cost nothing but themselves.

use std::path::Path;
use std::time::Duration;

use support::{Api, NodeBuilder, rounds};
use tokio::time::Instant;
use wire::{EventKind, ForkRequest, LogRecord, Session};

use crate::replay::grow;

async fn fork(api: &mut Api, parent: &str, at_seq: i64, count: i32) -> Vec<Session> {
    let request = ForkRequest { session: parent.into(), at_seq, count, ..ForkRequest::default() };
    api.client.fork(request).await.expect("fork succeeds").into_inner().children
}

fn uid(session: &Session) -> String {
    session.metadata.clone().unwrap_or_default().uid
}

fn hashes(records: &[LogRecord]) -> Vec<&str> {
    records.iter().map(|record| record.content_hash.as_str()).collect()
}

fn journal_bytes(directory: &Path) -> u64 {
    ["journal.db", "journal.db-wal"]
        .iter()
        .filter_map(|file| std::fs::metadata(directory.join(file)).ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// Forks 128 children and returns how long it took, with the growth of the store.
async fn fork_128(api: &mut Api, directory: &Path, session: &str) -> (Duration, u64) {
    let before = journal_bytes(directory);
    let started = Instant::now();
    assert_eq!(fork(api, session, 0, 128).await.len(), 128);
    (started.elapsed(), journal_bytes(directory).saturating_sub(before))
}

#[tokio::test]
async fn fork_into_128_children_costs_the_same_for_a_long_log_as_for_a_short_one() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let short = uid(&api.create("echo").await);
    grow(&mut api, &short, 10).await;
    let long = uid(&api.create("echo").await);
    grow(&mut api, &long, rounds(100_000)).await;

    // In turn, and the fastest of each counts: what else the machine does disturbs both alike.
    let (mut short_time, mut long_time, mut growth) = (Duration::MAX, Duration::MAX, u64::MAX);
    for _ in 0..20 {
        short_time = short_time.min(fork_128(&mut api, directory.path(), &short).await.0);
        let (time, bytes) = fork_128(&mut api, directory.path(), &long).await;
        (long_time, growth) = (long_time.min(time), growth.min(bytes));
    }
    println!("fork of a short log {short_time:?}, of a long one {long_time:?}, growth {growth} bytes");
    assert!(long_time.as_secs_f64() < 1.0, "{long_time:?}");
    assert!(long_time < 2 * short_time, "{long_time:?} against {short_time:?}");
    assert!(growth < 1 << 20, "{growth} bytes");
}

#[tokio::test]
async fn child_replays_its_parent_up_to_the_fork_and_goes_on_alone() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let parent = uid(&api.create("echo").await);
    for turn in 0..4 {
        api.turn(&parent, &format!("turn {turn}")).await;
    }
    let parent_log = api.log(&parent).await;

    for at_seq in [1, 5, 7, 20] {
        let child = uid(&fork(&mut api, &parent, at_seq, 1).await[0]);
        let log = api.log(&child).await;
        let inherited = at_seq as usize;
        assert_eq!(hashes(&log[..inherited]), hashes(&parent_log[..inherited]));
        assert_eq!(log.len(), inherited + 1);
        assert!(log.iter().all(|record| record.fence == 1), "fork children carry fence 1");
        api.turn(&child, "alone").await;
        assert_eq!(api.log(&child).await.len(), inherited + 1 + 5);
    }
    assert_eq!(api.log(&parent).await, parent_log, "the parent is untouched");
}

#[tokio::test]
async fn fork_of_a_fork_of_a_fork_reads_through_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let mut session = uid(&api.create("echo").await);
    for turn in 0..3 {
        api.turn(&session, &format!("turn {turn}")).await;
    }
    let mut expected: Vec<String> = hashes(&api.log(&session).await).into_iter().map(str::to_owned).collect();

    for (generation, at_seq) in [12, 13, 9, 3].into_iter().enumerate() {
        session = uid(&fork(&mut api, &session, at_seq, 1).await[0]);
        api.turn(&session, &format!("generation {generation}")).await;
        let log = api.log(&session).await;
        expected.truncate(at_seq as usize);
        assert_eq!(hashes(&log[..expected.len()]), expected, "generation {generation}");
        assert_eq!(log[expected.len()].event.as_ref().unwrap().kind(), EventKind::EventLifecycle);
        expected = hashes(&log).into_iter().map(str::to_owned).collect();
    }
}
