//! Presumed reads.

use bytes::Bytes;

use super::{assert_commits, assert_conflicts, begin, committed, put};
use crate::{Engine, Isolation, KeyRange};

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

/// What is presumed and written in one transaction is written if it was so, whatever the sizes of the two values, and a
/// range that was cleared before does not matter.
pub async fn presumed_value_is_replaced(engine: &dyn Engine) {
    let values = [0, 1, 600, 5_000].map(|len| Bytes::from(vec![7; len]));
    for (from, to) in values.iter().flat_map(|from| values.iter().map(move |to| (from, to))) {
        for cleared in [false, true] {
            put(engine, &[(HEAD, from)]).await;
            let mut refused = replacing(engine, &Bytes::from_static(b"other"), to, cleared).await;
            refused.set(b"beside", b"1");
            assert_conflicts(refused).await;
            assert_eq!(committed(engine, HEAD).await.as_ref(), Some(from));
            assert_commits(replacing(engine, from, to, cleared).await).await;
            assert_eq!(committed(engine, HEAD).await.as_ref(), Some(to));
        }
    }
    assert_eq!(committed(engine, b"beside").await, None);
}

/// Nothing is replaced where something else that was read has changed.
pub async fn replacement_needs_every_read(engine: &dyn Engine) {
    put(engine, &[(HEAD, b"1"), (b"read", b"1")]).await;
    let mut late = replacing(engine, &Bytes::from_static(b"1"), b"2", false).await;
    late.get(b"read", Isolation::Serializable).await.expect("get");
    put(engine, &[(b"read", b"2")]).await;
    assert_conflicts(late).await;
    assert_eq!(committed(engine, HEAD).await.as_deref(), Some(&b"1"[..]));
}

/// Begins a transaction that presumes `from` of the head and sets it to `to`, after a range around it was cleared or not.
async fn replacing(engine: &dyn Engine, from: &Bytes, to: &[u8], cleared: bool) -> Box<dyn crate::EngineTransaction> {
    let mut transaction = begin(engine).await;
    transaction.presume(HEAD, Some(from)).await.expect("presume");
    if cleared {
        transaction.clear_range(&KeyRange { begin: Bytes::from_static(b"h"), end: Bytes::from_static(b"i") });
    }
    transaction.set(HEAD, to);
    transaction
}
