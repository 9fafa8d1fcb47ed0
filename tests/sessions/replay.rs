//! Replay streams, whatever the length of the log.

use futures::TryStreamExt;
use support::{Api, BOUND, NodeBuilder, rounds, text};
use tokio::time::timeout;
use wire::{ExecRequest, ReplayRequest};

/// Appends at least `records` records to a session, many inputs a turn.
pub async fn grow(api: &mut Api, session: &str, records: usize) {
    const INPUTS: usize = 25_000;
    let mut left = records;
    while left > 0 {
        let inputs = (0..left.min(INPUTS)).map(|n| text(&format!("input {n}"))).collect();
        let request = ExecRequest { session: session.into(), inputs, ..ExecRequest::default() };
        let (_, failure) = api.exec(request).await;
        assert!(failure.is_none(), "turn failed: {failure:?}");
        left = left.saturating_sub(INPUTS);
    }
}

async fn count(api: &mut Api, session: &str) -> usize {
    let request = ReplayRequest { session: session.into(), ..ReplayRequest::default() };
    let stream = api.client.replay(request).await.expect("replay starts").into_inner();
    stream.try_fold(0, |count, _| async move { Ok(count + 1) }).await.expect("replay ends well")
}

#[tokio::test]
async fn long_replay_keeps_the_node_small_and_a_slow_reader_blocks_nobody() {
    let records = rounds(1_000_000);
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let session = {
        let node = builder.start().await;
        let mut api = node.api().await;
        let session = api.create("echo").await.metadata.unwrap().uid;
        grow(&mut api, &session, records).await;
        session
    };

    let node = builder.start().await;
    let mut api = node.api().await;
    // One record warms connections and buffers, so that what is measured is the replay.
    let request = ReplayRequest { session: session.clone(), to_seq: 1, ..ReplayRequest::default() };
    api.client.replay(request).await.unwrap().into_inner().message().await.unwrap();
    let before = node.resident_bytes();
    assert!(count(&mut api, &session).await >= records);
    let growth = node.resident_bytes().saturating_sub(before);
    println!("replay of {records} records: resident memory grew by {} KiB", growth / 1024);
    assert!(growth < 64 << 20, "resident memory grew by {growth} bytes");

    let mut slow = node.api().await;
    let request = ReplayRequest { session: session.clone(), ..ReplayRequest::default() };
    let mut stalled = slow.client.replay(request).await.unwrap().into_inner();
    stalled.message().await.unwrap();
    let other = api.create("echo").await.metadata.unwrap().uid;
    timeout(BOUND, api.turn(&other, "not blocked")).await.expect("a turn beside a slow reader ends");
    timeout(BOUND, api.log(&other)).await.expect("a replay beside a slow reader ends");
    assert!(stalled.message().await.unwrap().is_some(), "the slow reader goes on");
}

#[tokio::test]
async fn replay_range_follows_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "one").await;
    let cases: [(i64, i64, &[i64]); 9] = [
        (0, 0, &[1, 2, 3, 4, 5]),
        (-7, 0, &[1, 2, 3, 4, 5]),
        (2, 4, &[2, 3, 4]),
        (5, 0, &[5]),
        (6, 0, &[]),
        (4, 3, &[]),
        (1, -1, &[]),
        (i64::MAX, i64::MAX, &[]),
        (i64::MIN, i64::MAX, &[1, 2, 3, 4, 5]),
    ];
    for (from_seq, to_seq, expected) in cases {
        let request = ReplayRequest { session: session.clone(), from_seq, to_seq };
        let stream = api.client.replay(request).await.unwrap().into_inner();
        let records: Vec<_> = stream.map_ok(|record| record.seq).try_collect().await.unwrap();
        assert_eq!(records, expected, "from {from_seq} to {to_seq}");
    }
    for unknown in ["", "sess-000000000000000000000000"] {
        assert_eq!(count(&mut api, unknown).await, 0, "{unknown:?}");
    }
}
