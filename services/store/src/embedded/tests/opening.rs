//! Files that are opened, created or refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;

use super::{Place, get, set};
use crate::embedded::{Embedded, EmbeddedOptions, OpenError};
use crate::{Engine, Isolation};

fn refusal(place: &Place) -> String {
    let before = fs::read(place.path()).expect("read");
    let beside = files(place);
    let error = Embedded::open(place.path(), EmbeddedOptions::default()).err().expect("refusal");
    assert_eq!(fs::read(place.path()).expect("read"), before, "the file was changed");
    assert_eq!(files(place), beside, "something was left beside it");
    error.to_string()
}

fn files(place: &Place) -> usize {
    fs::read_dir(place.directory.path()).expect("list").count()
}

#[tokio::test]
async fn what_was_committed_is_there_after_reopening() {
    let place = Place::new();
    let engine = place.open();
    set(&engine, b"k", b"v").await.expect("commit");
    engine.close().await;
    assert_eq!(get(&place.open(), b"k").await.as_deref(), Some(&b"v"[..]));
}

/// Nothing more is acknowledged: it would be in no file after a restart, or written while another process writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_removed_or_replaced_while_it_is_open_is_given_up() {
    for (suffix, is_replaced) in [("", false), ("", true), ("-wal", false), ("-wal", true), ("-shm", false)] {
        let place = Place::new();
        let engine = place.open();
        set(&engine, b"k", b"v").await.expect("commit");
        let mut file = place.path().into_os_string();
        file.push(suffix);
        fs::rename(&file, place.directory.path().join("elsewhere")).expect("rename");
        if is_replaced {
            fs::write(&file, "another").expect("write");
        }
        let is_refused = async {
            while set(&engine, b"k", b"w").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), is_refused)
            .await
            .unwrap_or_else(|_| panic!("{suffix}: it goes on"));
    }
}

/// What was committed is in the file once the store is closed, though the log beside it is gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_before_the_log_was_removed_is_kept() {
    let place = Place::new();
    let engine = place.open();
    set(&engine, b"k", b"v").await.expect("commit");
    fs::remove_file(place.directory.path().join("store-wal")).expect("remove");
    engine.close().await;
    drop(engine);
    assert_eq!(get(&place.open(), b"k").await.as_deref(), Some(&b"v"[..]));
}

/// After a failed sync the operating system may have dropped whatever was written to the main file since the last one. All of it
/// is still in the log, however much of that counts as copied.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_sync_may_have_lost_is_copied_anew() {
    let place = Place::new();
    let engine = place.open();
    let synced = fs::read(place.path()).expect("read");
    set(&engine, b"k", b"v").await.expect("commit");
    let mut snapshot = engine.begin().await.expect("begin");
    snapshot.get(b"k", Isolation::Snapshot).await.expect("get");
    set(&engine, b"l", b"w").await.expect("commit");
    let copied = place.file().writer().expect("connection").checkpoint().expect("checkpoint").expect("nobody else");
    assert!(copied.copied > 0 && copied.left() > 0, "{copied:?}");

    set(&engine, b"k", b"x").await.expect("commit");
    let doubt = place.file().doubt();
    doubt.raise();
    let is_refused = async {
        while set(&engine, b"k", b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), is_refused).await.expect("closed");
    drop(snapshot);
    engine.close().await;
    fs::write(place.path(), synced).expect("write");

    let engine = place.open();
    assert!(!doubt.is_marked(), "it is settled");
    assert_eq!(get(&engine, b"k").await.as_deref(), Some(&b"x"[..]));
    assert_eq!(get(&engine, b"l").await.as_deref(), Some(&b"w"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_a_store_that_is_gone_says_nothing_of_a_new_one() {
    let place = Place::new();
    fs::write(place.directory.path().join("store-unsynced"), "").expect("write");
    let engine = place.open();
    assert!(!place.file().doubt().is_marked());
    set(&engine, b"k", b"v").await.expect("commit");
}

/// They are supposed to end together, and may well be started again together.
#[test]
fn those_that_open_a_store_in_doubt_at_once_all_open_it() {
    let place = Place::new();
    drop(place.open());
    fs::write(place.directory.path().join("store-unsynced"), "").expect("write");
    std::thread::scope(|scope| {
        let opened: Vec<_> = (0..8).map(|_| scope.spawn(|| place.open())).collect();
        let all: Vec<_> = opened.into_iter().map(|opened| opened.join().expect("open")).collect();
        assert_eq!(all.len(), 8);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_doubt_is_not_opened_beside_another() {
    let place = Place::new();
    let other = Connection::open(place.path()).expect("open");
    drop(place.open());
    other.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).expect("read");
    place.file().doubt().raise();
    let told = Embedded::open(place.path(), EmbeddedOptions::default()).err().expect("refusal").to_string();
    assert!(told.contains("End whatever has it open"), "{told}");
    drop(other);
    place.open();
}

#[tokio::test]
async fn closing_leaves_one_file_to_copy() {
    let place = Place::new();
    let engine = place.open();
    set(&engine, b"k", b"v").await.expect("commit");
    engine.close().await;
    let left: Vec<_> = fs::read_dir(place.directory.path()).expect("list").map(|entry| entry.expect("entry")).collect();
    let with_content: Vec<_> = left.iter().filter(|entry| entry.metadata().expect("metadata").len() > 0).collect();
    assert_eq!(with_content.len(), 1, "{left:?}");
}

#[tokio::test]
async fn what_would_be_no_journal_for_long_is_refused() {
    let open = |path: &Path| {
        Embedded::open(path, EmbeddedOptions::default()).err().map(|error| {
            let cause = std::error::Error::source(&error).expect("a cause");
            cause.to_string()
        })
    };
    let place = Place::new();
    place.open().close().await;
    let link = place.directory.path().join("link");
    fs::hard_link(place.path(), &link).expect("link");
    for name in [&place.path(), &link] {
        assert!(open(name).expect("refusal").contains("hard link"));
    }
    fs::remove_file(&link).expect("unlink");
    assert_eq!(open(&place.path()), None);

    let pipe = place.directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    assert_eq!(open(&pipe).as_deref(), Some("it is not a file"));
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_any_more_is_not_named() {
    let place = Place::new();
    let engine = place.open();
    fs::remove_file(place.path()).expect("remove");
    let read = async { engine.begin().await?.get(b"k", Isolation::Snapshot).await };
    let told = read.await.expect_err("no file").to_string();
    assert!(!told.contains(&*place.path().to_string_lossy()), "{told}");
}

#[tokio::test]
async fn a_store_is_readable_by_its_owner_only() {
    let place = Place::new();
    let engine = place.open();
    set(&engine, b"k", b"v").await.expect("commit");
    for entry in fs::read_dir(place.directory.path()).expect("list") {
        let entry = entry.expect("entry");
        let mode = entry.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn a_commit_is_synced_before_it_returns() {
    let place = Place::new();
    let table = place.file().writer().expect("writer");
    let synchronous: i64 =
        table.connection().pragma_query_value(None, "synchronous", |row| row.get(0)).expect("synchronous");
    let journal: String =
        table.connection().pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("journal_mode");
    assert_eq!((synchronous, journal.as_str()), (2, "wal"), "2 stands for FULL");
}

#[test]
fn many_may_create_one_store_at_once() {
    for _ in 0..20 {
        let place = Place::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| place.file().writer().expect("writer").wal_frames().expect("wal"));
            }
        });
    }
}

#[test]
fn journal_of_the_reference_host_is_refused() {
    let place = Place::new();
    let connection = Connection::open(place.path()).expect("create");
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA user_version = 2;").expect("mode");
    connection.execute_batch("CREATE TABLE sessions (uid TEXT); CREATE TABLE events (seq INTEGER);").expect("tables");
    drop(connection);
    let message = refusal(&place);
    assert!(message.contains("journal of the reference host (version 2)"), "{message}");
}

#[test]
fn database_of_another_program_is_refused() {
    let place = Place::new();
    let connection = Connection::open(place.path()).expect("create");
    connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE photos (id INTEGER);").expect("tables");
    drop(connection);
    let message = refusal(&place);
    assert!(message.contains("another program") && message.contains("photos"), "{message}");
}

#[test]
fn other_format_is_refused() {
    let place = Place::new();
    place.file().writer().expect("writer").connection().pragma_update(None, "user_version", 99).expect("update");
    let message = refusal(&place);
    assert!(message.contains("format 99"), "{message}");
}

#[test]
fn file_that_is_no_database_is_refused() {
    let place = Place::new();
    fs::write(place.path(), b"a text that is long enough to be mistaken for a header, but is none at all")
        .expect("write");
    let message = refusal(&place);
    assert!(message.contains("no SQLite file"), "{message}");
}

#[test]
fn missing_directory_is_reported() {
    let place = Place::new();
    let error = Embedded::open(place.directory.path().join("none/store"), EmbeddedOptions::default()).err();
    assert!(matches!(error, Some(OpenError::Io { .. })), "{error:?}");
}
