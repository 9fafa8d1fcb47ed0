//! A transaction sees what it has written.

use super::{assert_commits, begin, committed_keys, get, keys, letters, page, put};
use crate::{AtomicOp, Engine, KeyRange, RangeRead};

/// Point reads see sets, clears and cleared ranges.
pub async fn get_sees_own_writes(engine: &dyn Engine) {
    put(engine, &[(b"a", b"old"), (b"b", b"old"), (b"c", b"old")]).await;
    let mut own = begin(engine).await;
    own.set(b"a", b"new");
    own.clear(b"b");
    own.clear_range(&KeyRange::new(&b"c"[..], &b"d"[..]));
    own.set(b"d", b"new");
    assert_eq!(get(&mut own, b"a").await.as_deref(), Some(&b"new"[..]));
    assert_eq!(get(&mut own, b"b").await, None);
    assert_eq!(get(&mut own, b"c").await, None);
    assert_eq!(get(&mut own, b"d").await.as_deref(), Some(&b"new"[..]));
}

/// Range reads see them too, in order, forward and backward.
pub async fn ranges_see_own_writes(engine: &dyn Engine) {
    put(engine, &[(b"b", b"old"), (b"d", b"old"), (b"f", b"old")]).await;
    let mut own = begin(engine).await;
    own.set(b"a", b"new");
    own.set(b"d", b"new");
    own.clear(b"f");
    own.set(b"g", b"new");
    own.atomic(AtomicOp::Add, b"h", 1);
    let forward = page(&mut own, &RangeRead::forward(letters())).await;
    assert_eq!(keys(&forward), [&b"a"[..], b"b", b"d", b"g", b"h"]);
    assert_eq!(forward.rows[2].value, &b"new"[..]);
    assert_eq!(forward.rows[4].value, &1_u64.to_le_bytes()[..]);
    let backward = page(&mut own, &RangeRead::backward(letters()).limit(3)).await;
    assert_eq!(keys(&backward), [&b"h"[..], b"g", b"d"]);
}

/// Reading page by page over own writes gives every row once, whatever the page size and direction.
pub async fn pages_over_own_writes_hold_every_row_once(engine: &dyn Engine) {
    put(engine, &[(b"b", b""), (b"d", b""), (b"f", b""), (b"h", b""), (b"k", b"")]).await;
    let mut own = begin(engine).await;
    for key in [b"a", b"c", b"e", b"i", b"m"] {
        own.set(key, b"");
    }
    own.clear_range(&KeyRange::new(&b"f"[..], &b"i"[..]));
    for limit in 1..10 {
        for read in [RangeRead::forward(letters()), RangeRead::backward(letters())] {
            let (mut seen, mut next) = (Vec::new(), Some(read.limit(limit)));
            while let Some(read) = next {
                let page = page(&mut own, &read).await;
                seen.extend(keys(&page));
                next = read.after(&page);
            }
            seen.sort();
            assert_eq!(seen, [&b"a"[..], b"b", b"c", b"d", b"e", b"i", b"k", b"m"], "pages of {limit}");
        }
    }
}

/// A page is filled from behind what the transaction has cleared.
pub async fn own_clears_hide_committed_rows(engine: &dyn Engine) {
    put(engine, &[(b"a", b""), (b"b", b""), (b"c", b""), (b"d", b""), (b"e", b"")]).await;
    let mut own = begin(engine).await;
    own.clear_range(&KeyRange::new(&b"a"[..], &b"d"[..]));
    let first = page(&mut own, &RangeRead::forward(letters()).limit(1)).await;
    assert_eq!(keys(&first), [&b"d"[..]]);
}

/// Writes apply in the order in which they were made.
pub async fn a_set_after_clear_range_stays(engine: &dyn Engine) {
    put(engine, &[(b"a", b""), (b"b", b""), (b"c", b"")]).await;
    let mut own = begin(engine).await;
    own.set(b"aa", b"");
    own.clear_range(&letters());
    own.set(b"b", b"");
    assert_eq!(keys(&page(&mut own, &RangeRead::forward(letters())).await), [&b"b"[..]]);
    assert_commits(own).await;
    assert_eq!(committed_keys(engine).await, [&b"b"[..]]);
}

/// Cleared ranges that overlap, touch or lie within each other clear their union.
pub async fn overlapping_clear_ranges_merge(engine: &dyn Engine) {
    let all: Vec<[u8; 1]> = (b'a'..=b'p').map(|letter| [letter]).collect();
    put(engine, &all.iter().map(|key| (&key[..], &b""[..])).collect::<Vec<_>>()).await;
    let mut own = begin(engine).await;
    for (from, to) in [(b'b', b'd'), (b'f', b'h'), (b'c', b'e'), (b'h', b'i'), (b'g', b'g'), (b'k', b'n'), (b'l', b'm')]
    {
        own.clear_range(&KeyRange::new(vec![from], vec![to]));
    }
    let left = [&b"a"[..], b"e", b"i", b"j", b"n", b"o", b"p"];
    assert_eq!(keys(&page(&mut own, &RangeRead::forward(letters())).await), left);
    assert_commits(own).await;
    assert_eq!(committed_keys(engine).await, left);
}
