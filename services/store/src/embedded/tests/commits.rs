//! Groups, the write-ahead log, and what happens when writing fails.

use std::fs;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::{Place, get, set};
use crate::embedded::group::{GroupError, Outcome, commit_group};
use crate::embedded::table::Table;
use crate::limits::VALUE_BYTES;
use crate::optimistic::Commit;
use crate::reads::Reads;
use crate::tree::Tree;
use crate::writes::Writes;
use crate::{CommitError, Engine, KeyRange, StoreError};

fn commit(writes: impl FnOnce(&mut Writes)) -> Commit {
    let mut commit = Commit::default();
    writes(&mut commit.writes);
    commit
}

fn presuming(key: &[u8], value: Option<&'static [u8]>, mut commit: Commit) -> Commit {
    commit.reads = Reads::default();
    commit.reads.presume(key, value.map(Bytes::from_static));
    commit
}

#[test]
fn each_of_a_group_sees_those_before_it() {
    let place = Place::new();
    let (file, turn) = (place.file(), place.file().turn().expect("turn"));
    let mut table = file.writer().expect("writer");
    let group = [
        presuming(b"head", None, commit(|writes| writes.set(b"head", b"1"))),
        presuming(b"head", None, commit(|writes| writes.set(b"head", b"stale"))),
        presuming(b"head", Some(b"1"), commit(|writes| writes.set(b"head", b"2"))),
    ];
    let outcomes = commit_group(&turn, &mut table, group.iter()).expect("group");
    assert_eq!(outcomes, [Outcome::Committed(None), Outcome::Conflict, Outcome::Committed(None)]);
    assert_eq!(table.get(b"head").expect("get").as_deref(), Some(&b"2"[..]));
}

#[test]
fn group_that_does_not_fit_the_disk_leaves_nothing_and_the_next_one_works() {
    let place = Place::new();
    let (file, turn) = (place.file(), place.file().turn().expect("turn"));
    let mut table = file.writer().expect("writer");
    table.connection().pragma_update(None, "max_page_count", 20).expect("limit");
    let group =
        [commit(|writes| writes.set(b"small", b"v")), commit(|writes| writes.set(b"large", &vec![0; VALUE_BYTES]))];
    let outcome = commit_group(&turn, &mut table, group.iter());
    assert!(matches!(outcome, Err(GroupError::Write(_))), "{outcome:?}");
    assert_eq!(table.get(b"small").expect("get"), None);
    commit_group(&turn, &mut table, group[..1].iter()).expect("group");
    assert!(table.get(b"small").expect("get").is_some());
}

#[test]
fn large_values_are_removed_with_their_keys() {
    let place = Place::new();
    let (file, turn) = (place.file(), place.file().turn().expect("turn"));
    let mut table = file.writer().expect("writer");
    let large = vec![7; 5_000];
    let mut apply = |writes: &dyn Fn(&mut Writes)| {
        commit_group(&turn, &mut table, [commit(writes)].iter()).expect("group");
        let count = "SELECT count(*) FROM large";
        table.connection().query_row(count, [], |row| row.get::<_, i64>(0)).expect("count")
    };
    assert_eq!(apply(&|writes| [b"a", b"b", b"c", b"d"].iter().for_each(|key| writes.set(*key, &large))), 4);
    assert_eq!(apply(&|writes| writes.set(b"a", &large)), 4);
    assert_eq!(apply(&|writes| writes.set(b"a", b"small")), 3);
    assert_eq!(apply(&|writes| writes.clear(b"b")), 2);
    assert_eq!(apply(&|writes| writes.clear_range(&KeyRange::new(&b"c"[..], &b"d"[..]))), 1);
    assert_eq!(table.get(b"d").expect("get").as_deref(), Some(&large[..]));
}

#[tokio::test]
async fn commits_that_wait_share_a_group() {
    let place = Place::new();
    let engine = place.open();
    let keys: Vec<[u8; 2]> = (0..1_000_u16).map(u16::to_be_bytes).collect();
    let outcomes = futures::future::join_all(keys.iter().map(|key| set(&engine, key, b"v"))).await;
    assert!(outcomes.iter().all(Result::is_ok));
    let stats = engine.stats();
    assert_eq!(stats.commits, 1_000);
    assert!(stats.groups <= 100, "{stats:?}");
}

#[tokio::test]
async fn write_ahead_log_starts_anew_under_load() {
    let place = Place::new();
    let engine = place.open();
    let value = vec![0; VALUE_BYTES];
    for round in 0..40_u8 {
        // Twenty at a time overwrite 2 MB, 80 MB in all.
        let keys: Vec<[u8; 1]> = (0..20).map(|key| [key]).collect();
        let outcomes = futures::future::join_all(keys.iter().map(|key| set(&engine, key, &value))).await;
        assert!(outcomes.iter().all(Result::is_ok), "round {round}");
    }
    let log = fs::metadata(place.directory.path().join("store-wal")).expect("log").len();
    assert!(log < 60 << 20, "the log has {log} bytes");
    assert!(engine.stats().checkpoints > 0);
}

#[tokio::test]
async fn room_that_was_made_in_the_log_is_no_part_of_it() {
    const KEYS: u8 = 40;
    let (place, copy) = (Place::new(), Place::new());
    let engine = place.open();
    for key in 0..KEYS {
        set(&engine, &[key], b"v").await.expect("commit");
    }
    let log = fs::metadata(place.directory.path().join("store-wal")).expect("log").len();
    assert!(log > 4 << 20, "the log has {log} bytes");
    // As a process leaves it that is killed.
    for name in ["store", "store-wal"] {
        fs::copy(place.directory.path().join(name), copy.directory.path().join(name)).expect("copy");
    }
    let copied = copy.open();
    for key in 0..KEYS {
        assert!(get(&copied, &[key]).await.is_some(), "{key}");
    }
    set(&copied, b"next", b"v").await.expect("commit");
    drop(copied);
    assert!(get(&copy.open(), b"next").await.is_some());
}

#[test]
fn somebody_else_who_copies_the_log_is_no_trouble() {
    const ROUNDS: usize = 100;
    let place = Place::new();
    let file = place.file();
    let copy = |table: Table| (0..ROUNDS).try_for_each(|_| table.checkpoint().map(drop));
    std::thread::scope(|scope| {
        let copying = [(); 2].map(|()| file.writer().expect("writer")).map(|table| scope.spawn(move || copy(table)));
        let (turn, mut table) = (file.turn().expect("turn"), file.writer().expect("writer"));
        while copying.iter().any(|thread| !thread.is_finished()) {
            let group = [commit(|writes| writes.set(b"key", &[1; VALUE_BYTES]))];
            commit_group(&turn, &mut table, group.iter()).expect("group");
        }
        copying.into_iter().for_each(|thread| thread.join().expect("no panic").expect("copied, or left to the other"));
    });
}

#[tokio::test]
async fn commits_of_others_are_seen_and_fire_watches() {
    let place = Place::new();
    let (watching, other) = (place.open(), place.open());
    set(&other, b"k", b"1").await.expect("commit");
    assert_eq!(get(&watching, b"k").await.as_deref(), Some(&b"1"[..]));
    let mut transaction = watching.begin().await.expect("begin");
    let watch = transaction.watch(b"k");
    transaction.commit().await.expect("commit");
    set(&other, b"k", b"2").await.expect("commit");
    timeout(Duration::from_secs(5), watch).await.expect("the watch did not fire").expect("the watch failed");
}

#[tokio::test]
async fn versionstamps_ascend_over_all_who_share_a_store() {
    let place = Place::new();
    let engines = [place.open(), place.open()];
    let mut last = None;
    for round in 0..10 {
        let mut transaction = engines[round % 2].begin().await.expect("begin");
        transaction.set_versionstamped_key(b"v", b"", b"");
        let stamp = transaction.commit().await.expect("commit");
        assert!(stamp > last, "{stamp:?} does not follow {last:?}");
        last = stamp;
    }
}

#[tokio::test]
async fn closed_store_refuses_and_what_waited_is_committed() {
    let place = Place::new();
    let engine = place.open();
    let mut late = engine.begin().await.expect("begin");
    late.set(b"late", b"v");
    let waiting = set(&engine, b"waiting", b"v");
    let (waited, ()) = tokio::join!(waiting, engine.close());
    waited.expect("commit");
    let refused = late.commit().await;
    assert!(matches!(refused, Err(CommitError::Store(StoreError::Unavailable(_)))), "{refused:?}");
    assert!(get(&place.open(), b"waiting").await.is_some());
}
