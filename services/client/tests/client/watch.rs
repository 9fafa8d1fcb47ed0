//! Watches and their cursor.

use client::{Client, Code, Retry, Update, Watch};

use crate::script::{Script, first_breaks_after};

/// Watches to the end: how often the session was shown, and the records.
async fn watched(mut watch: Watch) -> (usize, Vec<i64>) {
    let (mut shown, mut seqs) = (0, Vec::new());
    while let Some(update) = watch.next().await.unwrap() {
        match update {
            Update::Session(_) => shown += 1,
            Update::Record(record) => seqs.push(record.seq),
            other => panic!("{other:?}"),
        }
    }
    (shown, seqs)
}

#[tokio::test(start_paused = true)]
async fn a_node_that_goes_away_is_asked_again_after_the_cursor_and_the_session_is_shown_once() {
    let script = Script::new(|state| (state.records, state.interrupted_replays, state.interrupted_after) = (9, 3, 2));
    assert_eq!(watched(script.client().watch("s", 2)).await, (1, (3..=9).collect()));
    assert_eq!(script.with(|state| state.replays_from.clone()), [3, 5, 7, 9]);
}

#[tokio::test]
async fn a_broken_connection_is_replaced_and_no_record_is_lost_or_repeated() {
    let script = Script::new(|state| state.records = 2000);
    let (listener, connector) = client::in_process();
    script.clone().serve(first_breaks_after(100 << 10, listener));
    let watch = Client::in_process(connector).watch("s", 0);
    assert_eq!(watched(watch).await, (1, (1..=2000).collect()));
    let from = script.with(|state| state.replays_from.clone());
    assert!(matches!(from[..], [1, next] if next > 1), "{from:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_without_progress_are_bounded_and_the_caller_can_go_on() {
    let attempts = Retry::default().attempts as usize + 1;
    let script = Script::new(|state| (state.records, state.interrupted_replays) = (1, attempts));
    let mut watch = script.client().watch("s", 0);
    assert!(matches!(watch.next().await, Ok(Some(Update::Session(_)))));
    assert_eq!(watch.next().await.unwrap_err().code(), Code::Unavailable);
    assert_eq!((watch.cursor(), script.with(|state| state.replays_from.len())), (0, attempts));
    assert!(matches!(watch.next().await, Ok(Some(Update::Record(record))) if record.seq == 1));
}
