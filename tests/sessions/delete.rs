//! DeleteSession: gone at once, removed for good whatever dies meanwhile, and forks stay whole.

use std::path::Path;
use std::time::Duration;

use store::{Engine, Isolation, KeyRange, RangeRead};
use support::{Api, BOUND, Failpoint, JournalPlace, NodeBuilder};
use tokio::time::Instant;
use tonic::{Code, Status};
use wire::{DeleteSessionRequest, ExecRequest, ForkRequest, IdentityRef, ListSessionsRequest, LogRecord, Session};

/// Turns of a session whose removal takes three transactions: four rows each, a thousand at a time.
const TURNS: usize = 600;
/// Commits of its deletion: burial, three removals, the end.
const COMMITS: u32 = 5;

fn builder(directory: &Path) -> NodeBuilder {
    NodeBuilder::new(directory).switch("--enable-delete-session")
}

async fn delete(api: &mut Api, uid: &str) -> Result<Session, Status> {
    let identity = Some(IdentityRef { principal: "ada".into(), ..IdentityRef::default() });
    let request = DeleteSessionRequest { uid: uid.into(), identity, reason: "asked to".into() };
    api.client.delete_session(request).await.map(tonic::Response::into_inner)
}

async fn fork(api: &mut Api, parent: &str, at_seq: i64) -> String {
    let request = ForkRequest { session: parent.into(), at_seq, ..ForkRequest::default() };
    let children = api.client.fork(request).await.unwrap().into_inner().children;
    children[0].metadata.clone().unwrap().uid
}

async fn turns(api: &mut Api, session: &str, count: usize) {
    for turn in 0..count {
        api.turn(session, &format!("turn {turn}")).await;
    }
}

/// How many rows of the journal name the session in their keys.
async fn rows_of(directory: &Path, uid: &str) -> usize {
    let engine = JournalPlace::of(directory).open().await;
    let mut transaction = engine.begin().await.unwrap();
    let mut next = Some(RangeRead::forward(KeyRange::new([0_u8].as_slice(), [0xff_u8].as_slice())));
    let mut rows = 0;
    while let Some(read) = next {
        let page = transaction.get_range(&read, Isolation::Snapshot).await.unwrap();
        rows += page.rows.iter().filter(|row| row.key.windows(uid.len()).any(|part| part == uid.as_bytes())).count();
        next = read.after(&page);
    }
    rows
}

/// Waits until nothing but the audit record is left of the session.
async fn removed(directory: &Path, uid: &str) {
    let deadline = Instant::now() + BOUND;
    while rows_of(directory, uid).await > 1 {
        assert!(Instant::now() < deadline, "the records are still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(rows_of(directory, uid).await, 1);
}

#[tokio::test]
async fn a_host_that_does_not_grant_it_answers_unimplemented() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    for uid in [session.as_str(), "", "sess-unknown"] {
        let refused = delete(&mut api, uid).await.unwrap_err();
        let expected = (Code::Unimplemented, "DeleteSession is not supported by this host");
        assert_eq!((refused.code(), refused.message()), expected);
    }
    assert!(api.get(&session).await.is_ok());
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_audit_record_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (node, elsewhere) = (builder(directory.path()).start().await, builder(directory.path()).start().await);
    let (mut api, mut other) = (node.api().await, elsewhere.api().await);
    let uid = api.create("echo").await.metadata.unwrap().uid;
    let last = api.turn(&uid, "hello").await.pop().unwrap();
    other.turn(&uid, "hello again").await;

    let left = delete(&mut api, &uid).await.unwrap();
    let audit = left.deletion.clone().unwrap();
    assert_eq!((left.last_seq, audit.reason.as_str(), audit.head_hash.len()), (10, "asked to", 64));
    assert_ne!(audit.head_hash, last.content_hash, "the hash is that of the last record");
    assert_eq!(audit.identity.unwrap().principal, "ada");
    removed(directory.path(), &uid).await;
    for api in [&mut api, &mut other] {
        assert_eq!(api.get(&uid).await.unwrap_err().code(), Code::NotFound);
        assert_eq!(api.log(&uid).await, []);
        let exec = ExecRequest { session: uid.clone(), ..ExecRequest::default() };
        assert_eq!(api.exec(exec).await.1.unwrap().code(), Code::NotFound);
        assert_eq!(api.resume(&uid).await.unwrap_err().code(), Code::NotFound);
        let listed = api.client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner();
        assert_eq!(listed.sessions, []);
        assert_eq!(delete(api, &uid).await.unwrap(), left, "again is the same");
    }
    assert_eq!(delete(&mut api, "").await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(delete(&mut api, "sess-unknown").await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn forks_of_a_deleted_session_replay_verify_and_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut node = builder(directory.path()).start().await;
    let mut api = node.api().await;
    let parent = api.create("echo").await.metadata.unwrap().uid;
    turns(&mut api, &parent, 8).await;
    let child = fork(&mut api, &parent, 22).await;
    api.turn(&child, "of the child").await;
    let grandchild = fork(&mut api, &child, 0).await;
    let logs: Vec<Vec<LogRecord>> = [api.log(&child).await, api.log(&grandchild).await].into();
    let parent_rows = rows_of(directory.path(), &parent).await;

    delete(&mut api, &parent).await.unwrap();
    assert!(rows_of(directory.path(), &parent).await < parent_rows, "what no fork reads is removed");
    node.kill();
    let node = builder(directory.path()).start().await;
    let mut api = node.api().await;
    assert_eq!([api.log(&child).await, api.log(&grandchild).await], logs[..]);
    assert_eq!(api.get(&child).await.unwrap().parent_uid, parent);
    let cousin = fork(&mut api, &child, 7).await;
    api.turn(&cousin, "of the cousin").await;
    assert_eq!(api.log(&cousin).await[..7], logs[0][..7]);

    for uid in [&child, &cousin, &grandchild] {
        api.turn(uid, "the last").await;
        delete(&mut api, uid).await.unwrap();
    }
    for uid in [&parent, &child, &cousin, &grandchild] {
        removed(directory.path(), uid).await;
    }
}

/// Copies the journal of a node that has stopped.
fn copied(from: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), directory.path().join(file.file_name())).unwrap();
        }
    }
    directory
}

#[tokio::test]
async fn a_node_killed_at_any_commit_of_a_deletion_leaves_it_whole_or_finished_later() {
    let original = tempfile::tempdir().unwrap();
    let mut node = builder(original.path()).start().await;
    let mut api = node.api().await;
    let uid = api.create("echo").await.metadata.unwrap().uid;
    turns(&mut api, &uid, TURNS).await;
    let log = api.log(&uid).await;
    node.terminate();
    node.wait(BOUND).await;

    for commit in 1..=COMMITS {
        for failpoint in [Failpoint::BeforeCommit(commit), Failpoint::AfterCommit(commit)] {
            let directory = copied(original.path());
            let builder = builder(directory.path());
            let dying = builder.clone().failpoint(failpoint).start().await;
            let answer = delete(&mut dying.api().await, &uid).await;
            assert!(answer.is_err(), "the node survived {failpoint:?}");

            let node = builder.start().await;
            let mut api = node.api().await;
            if matches!(failpoint, Failpoint::BeforeCommit(1)) {
                assert_eq!(api.log(&uid).await, log);
                delete(&mut api, &uid).await.unwrap();
            } else {
                assert_eq!(api.get(&uid).await.unwrap_err().code(), Code::NotFound, "{failpoint:?}");
            }
            removed(directory.path(), &uid).await;
            assert_eq!(delete(&mut api, &uid).await.unwrap().last_seq as usize, log.len());
        }
    }
}
