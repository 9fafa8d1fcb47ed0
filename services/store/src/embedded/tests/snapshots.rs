//! The pool of readers, and the end of a snapshot.

use std::sync::Arc;
use std::time::Duration;

use super::{Place, get, set};
use crate::embedded::EmbeddedOptions;
use crate::embedded::readers::Readers;
use crate::limits::TRANSACTION_LIFE;
use crate::optimistic::Snapshot;
use crate::{CommitError, Engine, Isolation, KeyRange, RangeRead, StoreError};

#[tokio::test(start_paused = true)]
async fn transaction_ends_with_its_time() {
    let place = Place::new();
    let engine = place.open();
    let mut transaction = engine.begin().await.expect("begin");
    tokio::time::advance(TRANSACTION_LIFE * 2).await;
    transaction.get(b"k", Isolation::Serializable).await.expect("its time begins with its first read");
    tokio::time::advance(TRANSACTION_LIFE - Duration::from_millis(1)).await;
    transaction.get(b"k", Isolation::Serializable).await.expect("get");
    tokio::time::advance(Duration::from_millis(1)).await;
    let read = transaction.get(b"k", Isolation::Serializable).await;
    assert!(matches!(read, Err(StoreError::TooOld)), "{read:?}");
    let read = transaction.get_range(&RangeRead::forward(KeyRange::prefix(b"k")), Isolation::Snapshot).await;
    assert!(matches!(read, Err(StoreError::TooOld)), "{read:?}");
    transaction.set(b"k", b"v");
    let outcome = transaction.commit().await;
    assert!(matches!(outcome, Err(CommitError::Store(StoreError::TooOld))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn expired_snapshot_is_taken_from_who_forgot_it() {
    let place = Place::new();
    let readers = Arc::new(Readers::new(place.file(), 1));
    let lease = readers.lease().await.expect("lease");
    lease.get(b"k").await.expect("get");
    readers.end_expired();
    lease.get(b"k").await.expect("it has not expired");
    tokio::time::advance(TRANSACTION_LIFE * 2).await;
    readers.end_expired();
    assert!(matches!(lease.get(b"k").await, Err(StoreError::TooOld)));
    drop(lease);
    readers.lease().await.expect("lease").get(b"k").await.expect("the connection is good for another");
}

#[tokio::test]
async fn more_transactions_than_readers_wait_for_each_other() {
    let place = Place::new();
    let engine = place.open_with(EmbeddedOptions { readers: 2 });
    set(&engine, b"k", b"v").await.expect("commit");
    let reads = (0..100).map(|_| get(&engine, b"k"));
    let values = futures::future::join_all(reads).await;
    assert!(values.iter().all(|value| value.as_deref() == Some(b"v")));
}

#[tokio::test]
async fn a_reader_that_is_not_free_in_time_may_be_asked_for_again() {
    let place = Place::new();
    let engine = place.open_with(EmbeddedOptions { readers: 1 });
    let mut holder = engine.begin().await.expect("begin");
    holder.get(b"k", Isolation::Snapshot).await.expect("get");
    tokio::time::pause();
    let mut waiting = engine.begin().await.expect("begin");
    let read = waiting.get(b"k", Isolation::Snapshot).await;
    assert!(matches!(read, Err(StoreError::TooOld)), "{read:?}");
}

#[tokio::test]
async fn snapshot_does_not_hold_up_commits() {
    let place = Place::new();
    let engine = place.open();
    set(&engine, b"k", b"old").await.expect("commit");
    let mut reader = engine.begin().await.expect("begin");
    reader.get(b"k", Isolation::Snapshot).await.expect("get");
    for number in 0..100_u8 {
        set(&engine, &[number], b"new").await.expect("commit");
    }
    set(&engine, b"k", b"new").await.expect("commit");
    let seen = reader.get(b"k", Isolation::Snapshot).await.expect("get");
    assert_eq!(seen.as_deref(), Some(&b"old"[..]));
}
