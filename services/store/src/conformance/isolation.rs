//! Strict serializability.

use super::{assert_commits, assert_conflicts, begin, committed, committed_keys, get, keys, letters, page, put};
use crate::{Engine, Isolation, KeyRange, RangeRead};

/// All reads of a transaction are of the state at its first.
pub async fn reads_see_one_instant(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1"), (b"b", b"1")]).await;
    let mut reader = begin(engine).await;
    assert_eq!(get(&mut reader, b"a").await.as_deref(), Some(&b"1"[..]));
    put(engine, &[(b"a", b"2"), (b"b", b"2"), (b"c", b"2")]).await;
    assert_eq!(get(&mut reader, b"a").await.as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&mut reader, b"b").await.as_deref(), Some(&b"1"[..]));
    assert_eq!(keys(&page(&mut reader, &RangeRead::forward(letters())).await), [&b"a"[..], b"b"]);
}

/// An acknowledged commit is seen by whoever begins afterwards.
pub async fn a_new_transaction_sees_every_earlier_commit(engine: &dyn Engine) {
    for round in 0..50_u8 {
        put(engine, &[(b"a", &[round])]).await;
        assert_eq!(committed(engine, b"a").await.as_deref(), Some(&[round][..]));
    }
}

/// Of two that read and then write one key, one conflicts.
pub async fn lost_update_is_prevented(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1")]).await;
    let (mut first, mut second) = (begin(engine).await, begin(engine).await);
    get(&mut first, b"a").await;
    get(&mut second, b"a").await;
    first.set(b"a", b"first");
    second.set(b"a", b"second");
    assert_commits(first).await;
    assert_conflicts(second).await;
    assert_eq!(committed(engine, b"a").await.as_deref(), Some(&b"first"[..]));
}

/// Of two that each read what the other writes, one conflicts.
pub async fn write_skew_is_prevented(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1"), (b"b", b"1")]).await;
    let (mut first, mut second) = (begin(engine).await, begin(engine).await);
    get(&mut first, b"a").await;
    get(&mut second, b"b").await;
    first.set(b"b", b"0");
    second.set(b"a", b"0");
    assert_commits(first).await;
    assert_conflicts(second).await;
}

/// A row that appears in a range that was read conflicts.
pub async fn phantom_in_a_range_conflicts(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1"), (b"c", b"1")]).await;
    let mut reader = begin(engine).await;
    page(&mut reader, &RangeRead::forward(letters())).await;
    reader.set(b"count", b"2");
    put(engine, &[(b"b", b"1")]).await;
    assert_conflicts(reader).await;
}

/// A row that vanishes from a range that was read conflicts.
pub async fn removal_in_a_range_conflicts(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1"), (b"b", b"1")]).await;
    let mut reader = begin(engine).await;
    page(&mut reader, &RangeRead::backward(letters())).await;
    reader.set(b"count", b"2");
    let mut remover = begin(engine).await;
    remover.clear(b"a");
    assert_commits(remover).await;
    assert_conflicts(reader).await;
}

/// A page that a limit ended conflicts only with what it covers.
pub async fn change_behind_a_full_page_does_not_conflict(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1"), (b"b", b"1"), (b"c", b"1")]).await;
    let mut reader = begin(engine).await;
    page(&mut reader, &RangeRead::forward(letters()).limit(2)).await;
    reader.set(b"x", b"1");
    put(engine, &[(b"bb", b"1"), (b"c", b"2")]).await;
    assert_commits(reader).await;
}

/// A page that a limit ended conflicts with what it covers.
pub async fn change_within_a_full_page_conflicts(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1"), (b"b", b"1"), (b"c", b"1")]).await;
    let mut reader = begin(engine).await;
    page(&mut reader, &RangeRead::backward(letters()).limit(2)).await;
    reader.set(b"x", b"1");
    put(engine, &[(b"bb", b"1")]).await;
    assert_conflicts(reader).await;
}

/// What was read with snapshot isolation may change.
pub async fn snapshot_reads_do_not_conflict(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1")]).await;
    let mut reader = begin(engine).await;
    reader.get(b"a", Isolation::Snapshot).await.expect("get");
    reader.get_range(&RangeRead::forward(letters()), Isolation::Snapshot).await.expect("get_range");
    reader.set(b"x", b"1");
    put(engine, &[(b"a", b"2"), (b"b", b"2")]).await;
    assert_commits(reader).await;
}

/// Who writes without reading never conflicts; the last commit wins.
pub async fn blind_writes_do_not_conflict(engine: &dyn Engine) {
    let (mut first, mut second) = (begin(engine).await, begin(engine).await);
    first.set(b"a", b"first");
    second.set(b"a", b"second");
    assert_commits(second).await;
    assert_commits(first).await;
    assert_eq!(committed(engine, b"a").await.as_deref(), Some(&b"first"[..]));
}

/// Who only reads has read one instant, and that is enough.
pub async fn read_only_transactions_do_not_conflict(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1")]).await;
    let mut reader = begin(engine).await;
    get(&mut reader, b"a").await;
    put(engine, &[(b"a", b"2")]).await;
    assert_commits(reader).await;
}

/// Writes of a transaction that never commits are not seen.
pub async fn dropped_transactions_leave_nothing(engine: &dyn Engine) {
    let mut dropped = begin(engine).await;
    get(&mut dropped, b"a").await;
    dropped.set(b"a", b"1");
    drop(dropped);
    assert_eq!(committed(engine, b"a").await, None);
}

/// The begin of a cleared range goes, its end stays.
pub async fn clear_range_removes_the_range_only(engine: &dyn Engine) {
    put(engine, &[(b"a", b""), (b"b", b""), (b"bb", b""), (b"c", b"")]).await;
    let mut clearing = begin(engine).await;
    clearing.clear_range(&KeyRange::new(&b"b"[..], &b"c"[..]));
    assert_commits(clearing).await;
    assert_eq!(committed_keys(engine).await, [&b"a"[..], b"c"]);
}
