//! Presumed reads.

use bytes::Bytes;

use super::{assert_commits, assert_conflicts, begin, committed, put};
use crate::Engine;

const HEAD: &[u8] = b"head";

/// Begins a transaction that presumes `value` of the head and writes.
async fn presuming(engine: &dyn Engine, value: Option<&'static [u8]>) -> Box<dyn crate::EngineTransaction> {
    let mut transaction = begin(engine).await;
    transaction.presume(HEAD, value.map(Bytes::from_static).as_ref()).await.expect("presume");
    transaction.set(b"written", b"1");
    transaction
}

/// What is presumed and true is no obstacle.
pub async fn true_presumption_commits(engine: &dyn Engine) {
    put(engine, &[(HEAD, b"1")]).await;
    assert_commits(presuming(engine, Some(b"1")).await).await;
    assert!(committed(engine, b"written").await.is_some());
}

/// What is presumed and false conflicts, and nothing is written.
pub async fn false_presumption_conflicts(engine: &dyn Engine) {
    put(engine, &[(HEAD, b"1")]).await;
    assert_conflicts(presuming(engine, Some(b"2")).await).await;
    assert_conflicts(presuming(engine, None).await).await;
    assert_eq!(committed(engine, b"written").await, None);
}

/// A key may be presumed absent.
pub async fn presumed_absence_holds(engine: &dyn Engine) {
    assert_commits(presuming(engine, None).await).await;
}

/// A value is not presumed where there is none, an empty one included.
pub async fn presumed_absence_fails_on_a_value(engine: &dyn Engine) {
    assert_conflicts(presuming(engine, Some(b"")).await).await;
    put(engine, &[(HEAD, b"")]).await;
    assert_conflicts(presuming(engine, None).await).await;
}

/// A presumption must hold at the commit.
pub async fn presumption_that_became_false_conflicts(engine: &dyn Engine) {
    put(engine, &[(HEAD, b"1")]).await;
    let late = presuming(engine, Some(b"1")).await;
    put(engine, &[(HEAD, b"2")]).await;
    assert_conflicts(late).await;
}

/// A transaction without writes is refused for a false presumption all the same.
pub async fn read_only_presumption_is_checked(engine: &dyn Engine) {
    put(engine, &[(HEAD, b"1")]).await;
    for (value, holds) in [(&b"1"[..], true), (b"2", false)] {
        let mut transaction = begin(engine).await;
        transaction.presume(HEAD, Some(&Bytes::from_static(value))).await.expect("presume");
        assert_eq!(transaction.commit().await.is_ok(), holds);
    }
}

/// A presumption stands for a read, and reads see own writes.
pub async fn presumption_on_an_own_write_is_checked(engine: &dyn Engine) {
    for (value, holds) in [(&b"own"[..], true), (b"other", false)] {
        let mut transaction = begin(engine).await;
        transaction.set(HEAD, b"own");
        transaction.presume(HEAD, Some(&Bytes::from_static(value))).await.expect("presume");
        assert_eq!(transaction.commit().await.is_ok(), holds);
    }
}
