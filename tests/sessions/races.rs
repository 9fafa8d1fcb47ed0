//! Writers that compete for a session.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Api, NodeBuilder, NodeProcess, rounds, text};
use tonic::Code;
use wire::ExecRequest;

fn guarded(session: &str, expected_last_seq: i64) -> ExecRequest {
    ExecRequest {
        session: session.into(),
        inputs: vec![text("race")],
        expected_last_seq: Some(expected_last_seq),
        ..ExecRequest::default()
    }
}

/// Runs the same guarded turn on both nodes at once and asserts that one of them won.
async fn race(one: &mut Api, other: &mut Api, session: &str, head: i64) {
    let (first, second) = tokio::join!(one.exec(guarded(session, head)), other.exec(guarded(session, head)));
    let failures: Vec<_> = [first.1, second.1].into_iter().flatten().collect();
    assert_eq!(failures.len(), 1, "exactly one wins: {failures:?}");
    assert_eq!(failures[0].code(), Code::Aborted, "{failures:?}");
}

#[tokio::test]
async fn of_two_turns_expecting_the_same_head_one_wins_and_the_log_has_no_gap() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let (mut one, mut other) = (node.api().await, node.api().await);
    let session = one.create("echo").await.metadata.unwrap().uid;
    let rounds = rounds(1_000) as i64;
    for round in 0..rounds {
        race(&mut one, &mut other, &session, round * 5).await;
    }
    assert_eq!(one.log(&session).await.len() as i64, rounds * 5);
}

#[tokio::test]
async fn of_two_turns_on_two_processes_expecting_the_same_head_at_most_one_wins() {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let (here, there) = (builder.start().await, builder.start().await);
    let (mut one, mut other) = (here.api().await, there.api().await);
    let session = one.create("echo").await.metadata.unwrap().uid;
    let mut head = 0;
    for _ in 0..rounds(1_000) {
        let (first, second) = tokio::join!(one.exec(guarded(&session, head)), other.exec(guarded(&session, head)));
        let wins = [&first.1, &second.1].iter().filter(|failure| failure.is_none()).count();
        assert!(wins <= 1, "both won");
        for status in [first.1, second.1].into_iter().flatten() {
            assert_eq!(status.code(), Code::Aborted, "{status:?}");
        }
        // The loser's fence may end the winner's turn after it began: what it recorded stays.
        head = one.get(&session).await.unwrap().last_seq;
    }
    assert_eq!(one.log(&session).await.len() as i64, head);
}

/// Runs turns on random sessions until `until` and returns the hashes of the records that were acknowledged.
async fn acknowledged_turns(node: &NodeProcess, sessions: &[String], seed: u64, turns: usize) -> Vec<(String, String)> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut api = node.api().await;
    let mut acknowledged = Vec::new();
    for turn in 0..turns {
        let session = &sessions[random.random_range(0..sessions.len())];
        let request = ExecRequest {
            session: session.clone(),
            inputs: vec![text(&format!("writer {seed} turn {turn}"))],
            ..ExecRequest::default()
        };
        let (updates, failure) = api.exec(request).await;
        assert!(failure.is_none_or(|status| status.code() == Code::Aborted));
        for update in updates {
            if let Some(wire::exec_update::Update::Record(record)) = update.update {
                acknowledged.push((session.clone(), record.content_hash));
            }
        }
    }
    acknowledged
}

#[tokio::test]
async fn eight_processes_on_one_journal_lose_and_double_nothing() {
    const NODES: usize = 8;
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(builder.start().await);
    }
    let mut api = nodes[0].api().await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(api.create("echo").await.metadata.unwrap().uid);
    }
    let writers =
        nodes.iter().enumerate().map(|(n, node)| acknowledged_turns(node, &sessions, n as u64, rounds(2_000)));
    let acknowledged: Vec<_> = futures::future::join_all(writers).await.into_iter().flatten().collect();
    assert!(!acknowledged.is_empty());

    let mut logs = std::collections::HashMap::new();
    for session in &sessions {
        logs.insert(session.clone(), api.log(session).await);
    }
    for (session, hash) in &acknowledged {
        let times = logs[session].iter().filter(|record| record.content_hash == *hash).count();
        assert_eq!(times, 1, "an acknowledged record of {session} is there {times} times");
    }
}
