//! Versionstamps.

use super::{begin, keys, page};
use crate::{Engine, KeyRange, RangeRead, Versionstamp};

async fn stamp(engine: &dyn Engine, suffixes: &[&[u8]]) -> Versionstamp {
    let mut transaction = begin(engine).await;
    for suffix in suffixes {
        transaction.set_versionstamped_key(b"v/", suffix, b"");
    }
    transaction.commit().await.expect("commit").expect("a versionstamp")
}

/// Later commits have higher stamps; commits at the same time have different ones.
pub async fn versionstamps_ascend_with_commits(engine: &dyn Engine) {
    let mut last = stamp(engine, &[b""]).await;
    for _ in 0..10 {
        let mut group = futures::future::join_all((0..10).map(|_| stamp(engine, &[b""]))).await;
        group.sort();
        for next in group {
            assert!(next > last, "{next:?} does not follow {last:?}");
            last = next;
        }
    }
}

/// The key that is found is the one that the answer names.
pub async fn a_stamped_key_holds_the_stamp_answered(engine: &dyn Engine) {
    let answered = stamp(engine, &[b"/end"]).await;
    let found = page(&mut begin(engine).await, &RangeRead::forward(KeyRange::prefix(b"v/"))).await;
    assert_eq!(keys(&found), [[&b"v/"[..], &answered.0, b"/end"].concat()]);
}

/// All stamped keys of a commit carry its one stamp.
pub async fn stamped_keys_of_one_commit_share_its_stamp(engine: &dyn Engine) {
    let answered = stamp(engine, &[b"a", b"b", b"c"]).await;
    let found = page(&mut begin(engine).await, &RangeRead::forward(KeyRange::prefix(b"v/"))).await;
    assert_eq!(found.rows.len(), 3);
    assert!(found.rows.iter().all(|row| row.key[2..12] == answered.0));
}
