//! Two adjacent versions on one journal. Another version is played by rows that it would have written.

use std::path::Path;

use store::Isolation;
use support::{JournalPlace, NodeBuilder};

/// The key of the format row: (`as`, 0), see docs/journal-layout.md.
const FORMAT: &[u8] = b"\x02as\x00\x14";

/// The key of a session's head: (`as`, 1, uid, 2).
fn head(uid: &str) -> Vec<u8> {
    [b"\x02as\x00\x15\x01\x02", uid.as_bytes(), b"\x00\x15\x02"].concat()
}

/// A format row: version and minimum, both below 128.
fn format(version: u8, minimum: u8) -> [u8; 4] {
    [0x08, version, 0x10, minimum]
}

/// Changes a row of a journal that no node has open.
async fn rewrite(journal: &JournalPlace, key: &[u8], change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let mut transaction = journal.open().await.begin().await.unwrap();
    let stored = transaction.get(key, Isolation::Serializable).await.unwrap().expect("the row is there");
    transaction.set(key, &change(stored.into()));
    transaction.commit().await.unwrap();
}

async fn read(journal: &JournalPlace, key: &[u8]) -> Vec<u8> {
    let mut transaction = journal.open().await.begin().await.unwrap();
    transaction.get(key, Isolation::Snapshot).await.unwrap().expect("the row is there").into()
}

/// A node over a journal with one session, stopped; and that session.
async fn stopped(directory: &Path) -> (NodeBuilder, String) {
    let builder = NodeBuilder::new(directory);
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "before").await;
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());
    (builder, session)
}

#[tokio::test]
async fn a_journal_that_a_later_version_uses_is_shared_as_long_as_it_says_that_this_one_may() {
    let directory = tempfile::tempdir().unwrap();
    let (builder, session) = stopped(directory.path()).await;
    rewrite(builder.journal(), FORMAT, |_| format(3, 2).into()).await;
    let mut node = builder.start().await;
    node.api().await.turn(&session, "after").await;
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());
    assert_eq!(read(builder.journal(), FORMAT).await, format(3, 2), "a host does not take the format back");
}

#[tokio::test]
async fn a_journal_that_needs_a_later_version_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (builder, _) = stopped(directory.path()).await;
    rewrite(builder.journal(), FORMAT, |_| format(4, 3).into()).await;
    let said = builder.refusal().await;
    let expected =
        "journal has format 4 and needs a host that knows format 3; this one knows up to 2: use a newer version";
    assert!(said.contains(expected), "{said}");
    assert_eq!(read(builder.journal(), FORMAT).await, format(4, 3));
}

#[tokio::test]
async fn a_journal_of_an_older_layout_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (builder, _) = stopped(directory.path()).await;
    // From before formats had a minimum.
    rewrite(builder.journal(), FORMAT, |_| vec![0x08, 1]).await;
    let said = builder.refusal().await;
    let expected = "journal has format 1, this version reads format 2 and later: use an older version first";
    assert!(said.contains(expected), "{said}");
    assert_eq!(read(builder.journal(), FORMAT).await, [0x08, 1]);
}

#[tokio::test]
async fn what_a_later_version_has_added_to_a_session_survives_turns_on_this_one() {
    let directory = tempfile::tempdir().unwrap();
    let (builder, session) = stopped(directory.path()).await;
    // Field 1000 with the text `new`.
    let added = [0xc2, 0x3e, 0x03, b'n', b'e', b'w'];
    rewrite(builder.journal(), &head(&session), |row| [&row[..], &added].concat()).await;
    let mut node = builder.start().await;
    let mut api = node.api().await;
    api.turn(&session, "after").await;
    api.suspend(&session).await.unwrap();
    api.resume(&session).await.unwrap();
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());
    let head = read(builder.journal(), &head(&session)).await;
    assert!(head.ends_with(&added), "{head:?}");
}
