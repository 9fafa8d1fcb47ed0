//! Replays and their cursor.

use client::{Client, Code, Replay, Retry, SeqRange};
use futures::TryStreamExt;

use crate::script::{Script, first_breaks_after};

async fn seqs(replay: Replay) -> Vec<i64> {
    let records: Vec<_> = replay.into_stream().try_collect().await.unwrap();
    records.iter().map(|record| record.seq).collect()
}

#[tokio::test]
async fn a_range_is_read_in_order() {
    let client = Script::new(|state| state.records = 9).client();
    assert_eq!(seqs(client.replay("s", SeqRange { from: 3, to: 5 })).await, [3, 4, 5]);
    assert_eq!(seqs(client.replay("s", SeqRange::ALL)).await, (1..=9).collect::<Vec<_>>());
    assert!(seqs(client.replay("s", SeqRange { from: 5, to: 3 })).await.is_empty());
}

#[tokio::test]
async fn a_broken_connection_is_replaced_and_no_record_is_lost_or_repeated() {
    let script = Script::new(|state| state.records = 2000);
    let (listener, connector) = client::in_process();
    script.clone().serve(first_breaks_after(100 << 10, listener));
    let replay = Client::in_process(connector).replay("s", SeqRange::ALL);
    assert_eq!(seqs(replay).await, (1..=2000).collect::<Vec<_>>());
    let from = script.with(|state| state.replays_from.clone());
    assert!(matches!(from[..], [1, next] if next > 1), "{from:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_goes_away_is_asked_again_at_the_cursor() {
    let script = Script::new(|state| (state.records, state.interrupted_replays, state.interrupted_after) = (7, 3, 2));
    assert_eq!(seqs(script.client().replay("s", SeqRange::ALL)).await, (1..=7).collect::<Vec<_>>());
    assert_eq!(script.with(|state| state.replays_from.clone()), [1, 3, 5, 7]);
}

#[tokio::test(start_paused = true)]
async fn a_break_after_the_last_record_needs_no_other_connection() {
    let script = Script::new(|state| (state.records, state.interrupted_replays, state.interrupted_after) = (7, 1, 2));
    assert_eq!(seqs(script.client().replay("s", SeqRange { from: 1, to: 2 })).await, [1, 2]);
    assert_eq!(script.with(|state| state.replays_from.len()), 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_without_progress_are_bounded_and_the_caller_can_go_on() {
    let attempts = Retry::default().attempts as usize + 1;
    let script = Script::new(|state| (state.records, state.interrupted_replays) = (2, attempts));
    let mut replay = script.client().replay("s", SeqRange::ALL);
    let error = replay.next().await.unwrap_err();
    assert_eq!((error.code(), script.with(|state| state.replays_from.len())), (Code::Unavailable, attempts));
    assert_eq!(replay.cursor(), 1);
    assert_eq!(replay.next().await.unwrap().unwrap().seq, 1, "a later call starts again at the cursor");
}
