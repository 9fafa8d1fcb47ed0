//! Processes that go on with what another has left.

use client::stream::{Checkpoint, CheckpointFile, Operation, ResumeError};
use std::path::Path;

use super::*;

fn read(path: &Path) -> Checkpoint {
    CheckpointFile::read(path).unwrap()
}

#[tokio::test]
async fn a_later_process_goes_on_behind_what_was_confirmed() {
    let server = serve(BYTE).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let invoker = invoker(&server.address);
    let first = call(&invoker, BYTE);
    let mut session = invoker.start(&first, Some(CheckpointFile::new(&path, &first))).unwrap();
    let mut input = session.take_inputs().pop().unwrap();
    for batch in [b"one", b"two", b"six"] {
        input.write_bytes(batch.to_vec().into()).await.unwrap();
    }
    let mut seen = output(&mut session).await;
    assert_eq!(seen.next().await.unwrap().unwrap().0, 0);
    assert_eq!(seen.next().await.unwrap().unwrap().0, 3, "which confirms the first batch");
    timeout(BOUND, session.saved()).await.unwrap().unwrap();
    // The process dies: neither end is said anything.
    drop(session);
    std::mem::forget((input, seen));

    let left = read(&path);
    assert_eq!((left.session_token.as_deref(), &left.pending), (Some("t1"), &None));
    assert_eq!(left.delivered_output_cursors["out"], "c3");
    let again = call(&invoker, BYTE);
    let file = CheckpointFile::new(&path, &again);
    let mut session = invoker.resume(&again, &left, Operation::Resume, Some(file)).unwrap();
    let mut input = session.take_inputs().pop().unwrap();
    assert_eq!(timeout(BOUND, input.position()).await.unwrap(), Some(9));
    input.write_bytes(b"ten".to_vec().into()).await.unwrap();
    input.end();
    let mut rest = output(&mut session).await;
    let mut came = Vec::new();
    while let Some((sequence, Item::Binary(items))) = timeout(BOUND, rest.next()).await.unwrap().unwrap() {
        came.push((sequence, items.payload().to_vec()));
    }
    assert_eq!(came, [(3, b"two".to_vec()), (6, b"six".to_vec()), (9, b"ten".to_vec())]);
    rest.confirm();
    drop(rest);
    assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));
    timeout(BOUND, session.saved()).await.unwrap().unwrap();
    assert_eq!(read(&path).delivered_output_cursors["out"], "end");
}

#[tokio::test]
async fn a_start_that_may_have_been_accepted_is_repeated_by_the_next_process() {
    let server = serve(BYTE).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    // The server accepts, and breaks every connection before it says so.
    server.journal.lock().unwrap().cuts = [0; 64].into();
    let invoker = invoker(&server.address);
    let first = call(&invoker, BYTE);
    let mut session = invoker.start(&first, Some(CheckpointFile::new(&path, &first))).unwrap();
    while server.journal.lock().unwrap().connections < 2 {
        assert!(matches!(timeout(BOUND, session.next()).await.unwrap(), Some(Update::Lost { .. })));
    }
    drop(session);
    server.journal.lock().unwrap().cuts.clear();

    let left = read(&path);
    assert_eq!(left.session_token, None);
    let other = Call { environment: "prod".into(), ..call(&invoker, BYTE) };
    let refused = invoker.resume(&other, &left, Operation::Resume, None).err();
    assert_eq!(refused, Some(ResumeError::Other("selector")));
    let again = call(&invoker, BYTE);
    assert_eq!(invoker.resume(&again, &left, Operation::Takeover, None).err(), Some(ResumeError::NoSession));
    let file = CheckpointFile::new(&path, &again);
    let mut session = invoker.resume(&again, &left, Operation::Resume, Some(file)).unwrap();
    let mut input = session.take_inputs().pop().unwrap();
    input.write_bytes(b"once".to_vec().into()).await.unwrap();
    input.end();
    let mut echoed = output(&mut session).await;
    assert_eq!(bytes(&mut echoed).await, b"once");
    drop(echoed);
    assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));
}

#[tokio::test]
async fn whoever_takes_a_session_over_has_it_alone() {
    let server = serve(BYTE).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let invoker = invoker(&server.address);
    let first = call(&invoker, BYTE);
    let mut old = invoker.start(&first, Some(CheckpointFile::new(&path, &first))).unwrap();
    let _old_input = old.take_inputs();
    let mut old_output = output(&mut old).await;
    timeout(BOUND, old.saved()).await.unwrap().unwrap();

    let again = call(&invoker, BYTE);
    let mut new = invoker.resume(&again, &read(&path), Operation::Takeover, None).unwrap();
    let input = new.take_inputs().pop().unwrap();
    assert_eq!(timeout(BOUND, old_output.next()).await.unwrap(), Err(Error::Revoked));
    assert_eq!(end(&mut old).await, Err(Error::Revoked));
    input.end();
    drop(output(&mut new).await);
    assert_eq!(end(&mut new).await, Ok(InvocationOutcome::Success));
}

#[tokio::test]
async fn w1_nothing_is_sent_past_a_checkpoint_that_cannot_be_written() {
    let server = serve(BYTE).await;
    let invoker = invoker(&server.address);
    let first = call(&invoker, BYTE);
    let nowhere = CheckpointFile::new("/nowhere/at/all", &first);
    let mut session = invoker.start(&first, Some(nowhere)).unwrap();
    assert!(matches!(end(&mut session).await, Err(Error::Checkpoint(_))));
    assert!(timeout(BOUND, session.saved()).await.unwrap().is_err());
    assert_eq!(server.journal.lock().unwrap().connections, 0);
}

#[tokio::test]
async fn checkpoints_are_readable_by_their_owner_alone_and_replaced_whole() {
    use std::os::unix::fs::PermissionsExt;
    let server = serve(BYTE).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let invoker = invoker(&server.address);
    let first = call(&invoker, BYTE);
    let mut session = invoker.start(&first, Some(CheckpointFile::new(&path, &first))).unwrap();
    session.take_inputs().pop().unwrap().end();
    let mut echoed = output(&mut session).await;
    bytes(&mut echoed).await;
    timeout(BOUND, session.saved()).await.unwrap().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["session"], "no temporary file is left");
}
