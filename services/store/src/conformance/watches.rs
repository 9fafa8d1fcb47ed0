//! Watches.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::timeout;

use super::{assert_commits, begin, get, letters, put};
use crate::{Engine, Watch};

/// A watch of the present value of `key`.
async fn watch(engine: &dyn Engine, key: &[u8]) -> Watch {
    let mut watching = begin(engine).await;
    get(&mut watching, key).await;
    let watch = watching.watch(key);
    assert_commits(watching).await;
    watch
}

async fn assert_fires(watch: Watch) {
    timeout(Duration::from_secs(5), watch).await.expect("the watch did not fire").expect("the watch failed");
}

/// A change wakes who watches, every one of them.
pub async fn a_later_commit_fires_a_watch(engine: &dyn Engine) {
    let (first, second) = (watch(engine, b"a").await, watch(engine, b"a").await);
    put(engine, &[(b"a", b"1")]).await;
    assert_fires(first).await;
    assert_fires(second).await;
}

/// A watch waits for changes after its transaction, not for those it made.
pub async fn an_own_write_does_not_fire_a_watch(engine: &dyn Engine) {
    let mut watching = begin(engine).await;
    watching.set(b"a", b"1");
    let mut watch = watching.watch(b"a");
    assert_commits(watching).await;
    assert!((&mut watch).now_or_never().is_none());
    put(engine, &[(b"a", b"2")]).await;
    assert_fires(watch).await;
}

/// A change that the watching transaction has not seen is not missed.
pub async fn a_change_before_the_watching_commit_fires_it(engine: &dyn Engine) {
    let mut watching = begin(engine).await;
    get(&mut watching, b"a").await;
    let watch = watching.watch(b"a");
    put(engine, &[(b"a", b"1")]).await;
    assert_commits(watching).await;
    assert_fires(watch).await;
}

/// Clearing a range is a change of the keys in it.
pub async fn clear_range_fires_a_watch(engine: &dyn Engine) {
    put(engine, &[(b"a", b"1")]).await;
    let watch = watch(engine, b"a").await;
    let mut clearing = begin(engine).await;
    clearing.clear_range(&letters());
    assert_commits(clearing).await;
    assert_fires(watch).await;
}

/// Changes of other keys wake nobody.
pub async fn other_keys_do_not_fire_a_watch(engine: &dyn Engine) {
    let watch = watch(engine, b"b").await;
    put(engine, &[(b"a", b"1"), (b"bb", b"1")]).await;
    assert!(watch.now_or_never().is_none());
}

/// Who waits for a transaction that never commits is told.
pub async fn a_watch_of_a_dropped_transaction_fails(engine: &dyn Engine) {
    let mut dropped = begin(engine).await;
    get(&mut dropped, b"a").await;
    let watch = dropped.watch(b"a");
    drop(dropped);
    timeout(Duration::from_secs(5), watch).await.expect("the watch waits for ever").expect_err("the watch fired");
}
