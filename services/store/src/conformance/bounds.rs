//! Limits: what is exactly at one fits, one byte more does not.

use super::{begin, committed};
use crate::limits::{KEY_BYTES, OPERATION_BYTES, TRANSACTION_BYTES, VALUE_BYTES};
use crate::{CommitError, Engine, EngineTransaction, Isolation, KeyRange, RangeRead, StoreError};

async fn assert_refused(transaction: Box<dyn EngineTransaction>, what: &str) {
    match transaction.commit().await {
        Err(CommitError::Store(StoreError::Limit(exceeded))) => assert_eq!(exceeded.what, what),
        other => panic!("expected the {what} to be too large, got {other:?}"),
    }
}

async fn commit_set(engine: &dyn Engine, key: &[u8], value: &[u8]) -> Result<(), CommitError> {
    let mut transaction = begin(engine).await;
    transaction.set(key, value);
    transaction.commit().await.map(drop)
}

/// See [`KEY_BYTES`].
pub async fn largest_key_fits_and_one_byte_more_does_not(engine: &dyn Engine) {
    let mut key = vec![b'k'; KEY_BYTES];
    commit_set(engine, &key, b"v").await.expect("commit");
    assert!(committed(engine, &key).await.is_some());
    key.push(b'k');
    let mut transaction = begin(engine).await;
    let read = transaction.get(&key, Isolation::Snapshot).await;
    assert!(matches!(read, Err(StoreError::Limit(_))), "{read:?}");
    transaction.set(&key, b"v");
    assert_refused(transaction, "key").await;
    let mut transaction = begin(engine).await;
    transaction.set_versionstamped_key(&key[..KEY_BYTES - 9], b"", b"v");
    assert_refused(transaction, "key").await;
}

/// See [`VALUE_BYTES`].
pub async fn largest_value_fits_and_one_byte_more_does_not(engine: &dyn Engine) {
    let mut value = vec![b'v'; VALUE_BYTES];
    commit_set(engine, b"k", &value).await.expect("commit");
    assert_eq!(committed(engine, b"k").await.as_deref(), Some(&value[..]));
    value.push(b'v');
    let mut transaction = begin(engine).await;
    transaction.set(b"k", &value);
    assert_refused(transaction, "value").await;
}

/// See [`TRANSACTION_BYTES`].
pub async fn largest_transaction_fits_and_one_byte_more_does_not(engine: &dyn Engine) {
    for (spare, fits) in [(0, true), (1, false)] {
        let mut transaction = begin(engine).await;
        // A write counts its key and value, and its key's range: the key, and the key with a zero byte.
        let overhead = 3 + 2 * 3 + 1 + OPERATION_BYTES;
        let (mut left, mut number) = (TRANSACTION_BYTES + spare, 0_u16);
        while left > 0 {
            let value = VALUE_BYTES.min(left - overhead);
            // What is left must be enough for another write, or nothing.
            let rest = left - overhead - value;
            let value = if rest > 0 && rest < overhead { value - overhead } else { value };
            transaction.set(&[&b"k"[..], &number.to_be_bytes()].concat(), &vec![0; value]);
            left -= overhead + value;
            number += 1;
        }
        if fits {
            transaction.commit().await.expect("commit");
        } else {
            assert_refused(transaction, "transaction").await;
        }
    }
}

/// Keys from 0xff on belong to the engine.
pub async fn system_keys_are_refused(engine: &dyn Engine) {
    let outcome = commit_set(engine, b"\xff", b"v").await;
    assert!(matches!(outcome, Err(CommitError::Store(StoreError::IllegalKey))), "{outcome:?}");
    let mut transaction = begin(engine).await;
    let read = transaction.get(b"\xffv", Isolation::Snapshot).await;
    assert!(matches!(read, Err(StoreError::IllegalKey)), "{read:?}");
    let beyond = RangeRead::forward(KeyRange::new(&b"a"[..], &b"\xff\0"[..]));
    let read = transaction.get_range(&beyond, Isolation::Snapshot).await;
    assert!(matches!(read, Err(StoreError::IllegalKey)), "{read:?}");
}

/// A range that ends before it begins is a mistake of the caller.
pub async fn inverted_ranges_are_refused(engine: &dyn Engine) {
    let inverted = KeyRange::new(&b"b"[..], &b"a"[..]);
    let mut transaction = begin(engine).await;
    let read = transaction.get_range(&RangeRead::forward(inverted.clone()), Isolation::Snapshot).await;
    assert!(matches!(read, Err(StoreError::IllegalKey)), "{read:?}");
    transaction.clear_range(&inverted);
    let outcome = transaction.commit().await;
    assert!(matches!(outcome, Err(CommitError::Store(StoreError::IllegalKey))), "{outcome:?}");
}

/// One illegal write refuses the whole transaction.
pub async fn a_refused_write_commits_nothing(engine: &dyn Engine) {
    let mut transaction = begin(engine).await;
    transaction.set(b"before", b"v");
    transaction.set(b"k", &vec![0; VALUE_BYTES + 1]);
    transaction.set(b"after", b"v");
    assert_refused(transaction, "value").await;
    assert_eq!(committed(engine, b"before").await, None);
    assert_eq!(committed(engine, b"after").await, None);
}
