//! Watch: a session followed through another node than the one that runs it, with nothing but the journal between them.

use std::time::Duration;

use support::{Api, BOUND, NodeBuilder};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use wire::exec_update::Update;
use wire::{DeleteSessionRequest, ExecUpdate, WatchRequest};

async fn watch(api: &mut Api, session: &str, after_seq: i64) -> Streaming<ExecUpdate> {
    api.client.watch(WatchRequest { session: session.into(), after_seq }).await.unwrap().into_inner()
}

async fn next(updates: &mut Streaming<ExecUpdate>) -> Result<Update, Status> {
    let update = timeout(BOUND, updates.message()).await.expect("an update comes");
    Ok(update?.expect("a watch does not end by itself").update.expect("an update says something"))
}

/// The seqs of the next records.
async fn seqs(updates: &mut Streaming<ExecUpdate>, count: usize) -> Vec<i64> {
    let mut seqs = Vec::new();
    while seqs.len() < count {
        if let Update::Record(record) = next(updates).await.unwrap() {
            seqs.push(record.seq);
        }
    }
    seqs
}

#[tokio::test]
async fn a_watch_goes_on_from_its_cursor_through_any_node_and_each_record_comes_once() {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let (one, other) = (builder.start().await, builder.start().await);
    let (mut api, mut elsewhere) = (one.api().await, other.api().await);
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "first").await;

    let mut updates = watch(&mut elsewhere, &session, 3).await;
    let Update::Session(first) = next(&mut updates).await.unwrap() else { panic!("the session comes first") };
    assert_eq!(first.last_seq, 5);
    assert_eq!(seqs(&mut updates, 2).await, [4, 5]);
    api.turn(&session, "second").await;
    assert_eq!(seqs(&mut updates, 5).await, [6, 7, 8, 9, 10]);
    elsewhere.turn(&session, "third").await;
    assert_eq!(seqs(&mut updates, 5).await, [11, 12, 13, 14, 15]);
}

#[tokio::test]
async fn a_watch_ends_with_its_session_its_deadline_or_its_node() {
    let directory = tempfile::tempdir().unwrap();
    let mut node = NodeBuilder::new(directory.path()).switch("--enable-delete-session").start().await;
    let mut api = node.api().await;
    let code = |ended: Result<Update, Status>| ended.unwrap_err().code();
    let mut unknown = watch(&mut api, "sess-000000000000000000000000", 0).await;
    assert_eq!(code(next(&mut unknown).await), Code::NotFound);

    let session = api.create("echo").await.metadata.unwrap().uid;
    let mut updates = watch(&mut api, &session, 0).await;
    next(&mut updates).await.unwrap();
    let delete = DeleteSessionRequest { uid: session, ..DeleteSessionRequest::default() };
    api.client.delete_session(delete).await.unwrap();
    assert_eq!(code(next(&mut updates).await), Code::NotFound);

    let session = api.create("echo").await.metadata.unwrap().uid;
    let mut request = tonic::Request::new(WatchRequest { session: session.clone(), after_seq: 0 });
    request.set_timeout(Duration::from_millis(300));
    let mut bounded = api.client.watch(request).await.unwrap().into_inner();
    next(&mut bounded).await.unwrap();
    assert_eq!(code(next(&mut bounded).await), Code::DeadlineExceeded);

    let mut updates = watch(&mut api, &session, 0).await;
    next(&mut updates).await.unwrap();
    let asked = tokio::time::Instant::now();
    node.terminate();
    assert_eq!(code(next(&mut updates).await), Code::Unavailable);
    assert!(asked.elapsed() < Duration::from_secs(5), "a drain, which lasts 10 s, does not wait for it");
    assert!(node.wait(BOUND).await.success());
}
