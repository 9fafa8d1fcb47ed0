//! What was acknowledged survives.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::{BOUND, NodeBuilder, NodeProcess, record, text};
use tokio::time::timeout;
use wire::{ExecRequest, SuspendRequest};

#[tokio::test]
async fn acknowledged_record_is_readable_after_every_process_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    for turn in 0..10 {
        let acknowledged = api.turn(&session, &format!("turn {turn}")).await;
        node.kill();
        node = builder.start().await;
        api = node.api().await;
        let log = api.log(&session).await;
        assert!(log.ends_with(&acknowledged), "turn {turn} was acknowledged and is gone");
    }
}

/// Follows the node's system calls while it appends one record after another, each answered before the next is asked for:
/// between the last write to the journal's log and the bytes that tell the client, the log is synchronised.
#[tokio::test]
async fn journal_is_synchronised_before_the_acknowledgement() {
    const RECORDS: usize = 20;
    if !has_strace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;

    let trace = directory.path().join("trace");
    let mut strace = attach(&node, |strace| {
        strace
            .args(["-y", "-s", "64", "-e", "trace=pwrite64,fdatasync,fsync,write,writev,sendto,sendmsg", "-o"])
            .arg(&trace)
    })
    .await;
    for _ in 0..RECORDS {
        let request = SuspendRequest { session: session.clone() };
        api.client.suspend(request).await.unwrap();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&strace), rustix::process::Signal::INT).unwrap();
    strace.wait().unwrap();

    let trace = std::fs::read_to_string(trace).unwrap();
    let (mut unsynchronised, mut commits, mut answers) = (false, 0, 0);
    for line in trace.lines() {
        let to_log = line.contains("-wal>");
        if to_log && line.contains("pwrite64(") {
            unsynchronised = true;
        } else if to_log && (line.contains("fdatasync(") || line.contains("fsync(")) {
            unsynchronised = false;
            commits += 1;
        } else if line.contains("socket:[") {
            assert!(!unsynchronised, "an answer left before its commit was synchronised: {line}");
            answers += 1;
        }
    }
    assert_eq!(api.log(&session).await.len(), RECORDS);
    assert!(commits >= RECORDS && answers >= RECORDS, "not traced: {commits} commits, {answers} answers");
}

/// Fails the first sync of the journal's main file. The operating system may then have dropped whatever was written to that
/// file since the sync before, so here the file is put back as it was at that time.
#[tokio::test]
async fn a_failed_sync_of_the_journal_closes_it_and_loses_nothing_acknowledged() {
    const TURNS: usize = 200;
    if !has_strace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    let (journal, synced) = (directory.path().join("journal.db"), directory.path().join("synced"));
    std::fs::copy(&journal, &synced).unwrap();

    let mut strace = attach(&node, |strace| {
        strace.arg("-P").arg(&journal).args([
            "-e",
            "trace=fdatasync,fsync",
            "-e",
            "inject=fdatasync,fsync:error=EIO:when=1",
        ])
    })
    .await;
    let (mut acknowledged, mut failure) = (Vec::new(), None);
    for _ in 0..TURNS {
        let inputs = vec![text(&"x".repeat(512 << 10))];
        let request = ExecRequest { session: session.clone(), inputs, ..ExecRequest::default() };
        let (updates, failed) = timeout(BOUND, api.exec(request)).await.expect("an end of the turn");
        acknowledged.extend(updates.into_iter().filter_map(record));
        failure = failed;
        if failure.is_some() {
            break;
        }
    }
    let failure = failure.expect("an end");
    assert!(failure.message().contains("store is closed"), "{failure}");
    let mark = directory.path().join("journal.db-unsynced");
    node.kill();
    strace.wait().unwrap();
    assert!(mark.exists(), "other nodes are not told");
    std::fs::copy(&synced, &journal).unwrap();

    let node = builder.start().await;
    let log = node.api().await.log(&session).await;
    assert!(!mark.exists(), "the log was not copied anew");
    assert!(
        log.starts_with(&acknowledged),
        "{} records were acknowledged, {} are there",
        acknowledged.len(),
        log.len()
    );
}

fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        println!("NOT RUN: strace is not installed");
    }
    found
}

/// Has strace follow the node, with these options.
async fn attach(node: &NodeProcess, options: impl FnOnce(&mut Command) -> &mut Command) -> Child {
    let mut strace = Command::new("strace");
    options(strace.arg("-f")).args(["-p", &node.pid().to_string()]).stderr(Stdio::piped());
    let mut strace = strace.spawn().unwrap();
    wait_until_attached(&mut strace).await;
    strace
}

async fn wait_until_attached(strace: &mut Child) {
    use std::io::{BufRead, BufReader};
    let stderr = strace.stderr.take().unwrap();
    let attached = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(stderr).lines();
        let seen = lines.by_ref().map_while(Result::ok).any(|line| line.contains("attached"));
        // strace must not block on a pipe that nobody reads.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        seen
    });
    let attached = timeout(BOUND.max(Duration::from_secs(10)), attached).await;
    assert!(matches!(attached, Ok(Ok(true))), "strace did not attach");
}
