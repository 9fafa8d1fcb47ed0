//! Range reads.

use bytes::Bytes;

use super::{begin, keys, letters, page, put};
use crate::{Engine, KeyRange, RangeRead};

async fn put_numbered(engine: &dyn Engine, count: u16) -> Vec<Bytes> {
    let keys: Vec<Bytes> = (0..count).map(|number| Bytes::from([&b"k"[..], &number.to_be_bytes()].concat())).collect();
    put(engine, &keys.iter().map(|key| (&key[..], &b"0123456789"[..])).collect::<Vec<_>>()).await;
    keys
}

async fn read_all(engine: &dyn Engine, read: RangeRead) -> Vec<Bytes> {
    let mut transaction = begin(engine).await;
    let (mut seen, mut next) = (Vec::new(), Some(read));
    while let Some(read) = next {
        let page = page(&mut transaction, &read).await;
        assert!(page.rows.len() <= read.limit, "a page exceeds its limit");
        seen.extend(keys(&page));
        next = read.after(&page);
    }
    seen
}

/// Forward pages give every row once, in order.
pub async fn pages_follow_each_other_forward(engine: &dyn Engine) {
    let all = put_numbered(engine, 100).await;
    for limit in [1, 7, 50, 99, 100, 101] {
        assert_eq!(read_all(engine, RangeRead::forward(letters()).limit(limit)).await, all, "pages of {limit}");
    }
}

/// Backward pages give every row once, in reverse order.
pub async fn pages_follow_each_other_backward(engine: &dyn Engine) {
    let mut all = put_numbered(engine, 100).await;
    all.reverse();
    for limit in [1, 7, 50, 99, 100, 101] {
        assert_eq!(read_all(engine, RangeRead::backward(letters()).limit(limit)).await, all, "pages of {limit}");
    }
}

/// A page ends soon after its bytes are used up, and makes progress however few they are.
pub async fn byte_limit_ends_a_page(engine: &dyn Engine) {
    let all = put_numbered(engine, 100).await;
    let read = RangeRead { byte_limit: 130, ..RangeRead::forward(letters()) };
    let first = page(&mut begin(engine).await, &read).await;
    assert!(first.more && (1..=20).contains(&first.rows.len()), "{} rows", first.rows.len());
    assert_eq!(read_all(engine, read.clone()).await, all);
    assert_eq!(read_all(engine, RangeRead { byte_limit: 1, ..read }).await, all);
}

/// A range without rows gives an empty page, which is the last.
pub async fn empty_range_is_an_empty_page(engine: &dyn Engine) {
    put_numbered(engine, 10).await;
    for range in [KeyRange::prefix(b"x"), KeyRange::new(&b"k"[..], &b"k"[..])] {
        let page = page(&mut begin(engine).await, &RangeRead::forward(range)).await;
        assert!(page.rows.is_empty() && !page.more);
    }
}

/// [`KeyRange::prefix`] neither misses nor adds a key.
pub async fn prefix_range_holds_exactly_the_prefix(engine: &dyn Engine) {
    put(engine, &[(b"p", b""), (b"p\0", b""), (b"p\xff", b""), (b"p\xff\xff", b""), (b"o\xff", b""), (b"q", b"")])
        .await;
    let found = read_all(engine, RangeRead::forward(KeyRange::prefix(b"p"))).await;
    assert_eq!(found, [&b"p"[..], b"p\0", b"p\xff", b"p\xff\xff"]);
    assert_eq!(read_all(engine, RangeRead::forward(KeyRange::prefix(b"p\xff"))).await, [&b"p\xff"[..], b"p\xff\xff"]);
}

/// Keys are ordered as unsigned bytes, a prefix first; an empty key is a key.
pub async fn binary_keys_keep_byte_order(engine: &dyn Engine) {
    let ordered: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0\x01", b"\x01", b"\x7f", b"\x80", b"\xfe\xff"];
    let mut shuffled = ordered;
    shuffled.rotate_left(3);
    put(engine, &shuffled.map(|key| (key, &b""[..]))).await;
    let all = KeyRange::new(&b""[..], &b"\xff"[..]);
    assert_eq!(read_all(engine, RangeRead::forward(all).limit(3)).await, ordered);
}
