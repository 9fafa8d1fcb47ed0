//! What is carried over, and that it goes on.

use std::fs;

use serde_json::Value;
use support::records::Of;
use support::{
    Agentctl, Failpoint, NodeBuilder, ReferenceJournal, ScriptedHarness, Step, chain, decision, kinds, remote_spec,
    text,
};
use wire::EventKind::{EventApprovalResult, EventEnd, EventLifecycle, EventOutput, EventToolResult};
use wire::{ExecState, ExecutionStart, ForkRequest, HarnessState, ListSessionsRequest, ModelCall};

use crate::sample::{FILE, FORK, GATED, Sample, TURNS};

const IMPORTED: &str = "ok file=reference.db sessions=3 records=19 present=0 harnesses=2 reserved=2\n";

/// A sample whose registered harnesses are served by nobody.
fn sample() -> Sample {
    Sample::new(&remote_spec("127.0.0.1:9"))
}

/// A node whose model is the built-in echo.
fn node(sample: &Sample) -> NodeBuilder {
    NodeBuilder::new(sample.directory.path()).operated()
}

/// A node that can serve registered harnesses.
fn node_for_remotes(sample: &Sample) -> NodeBuilder {
    node(sample).flag("--model", "none").flag("--model-base-url", "http://127.0.0.1:9")
}

#[tokio::test]
async fn sessions_are_carried_over_unchanged() {
    let sample = sample();
    let file = fs::read(sample.file()).unwrap();
    assert_eq!(sample.agentctl.ok(&["import", FILE]), IMPORTED);
    assert_eq!(fs::read(sample.file()).unwrap(), file);
    for session in [TURNS, FORK, GATED] {
        let verified = sample.agentctl.ok(&["verify", "--session", session]);
        let last = sample.records(session).last().unwrap();
        assert_eq!(verified, format!("ok session={session} records={} head={}\n", last.seq, last.content_hash));
    }

    let node = node(&sample).start().await;
    let mut api = node.api().await;
    for session in [TURNS, FORK, GATED] {
        assert_eq!(api.log(session).await, sample.records(session), "hashes and fences too");
    }
    let listed = api.client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner();
    let uids = listed.sessions.iter().map(|session| session.metadata.as_ref().unwrap().uid.as_str());
    assert_eq!(uids.collect::<Vec<_>>(), [GATED, TURNS, FORK], "the newest first, then by uid");

    let turns = api.get(TURNS).await.unwrap();
    let metadata = turns.metadata.unwrap();
    assert_eq!((metadata.project.as_str(), metadata.name.as_str()), ("default", "turns"));
    assert_eq!((metadata.create_time.unwrap().nanos, metadata.update_time.unwrap().seconds), (1, 1_700_000_001));
    assert_eq!((turns.harness.as_str(), turns.model.as_str(), turns.last_seq), ("echo", "some-model", 8));
    assert_eq!(turns.labels["team"], "<blue> & co");
    assert_eq!(turns.identity.unwrap().principal, "ada");
    let origin = turns.origin.unwrap();
    assert_eq!((origin.source.as_str(), origin.attributes["Id"].as_str()), ("ticket", "7"));
    let fork = api.get(FORK).await.unwrap();
    assert_eq!((fork.parent_uid.as_str(), fork.fork_seq), (TURNS, 5));
    let gated = api.get(GATED).await.unwrap();
    assert_eq!((gated.exec_state(), gated.pending_approval.unwrap().request_seq), (ExecState::ExecAwaiting, 4));
    assert_eq!(sample.agentctl.ok(&["pending", "--output", "json"]).lines().count(), 1);
}

#[tokio::test]
async fn an_interrupted_turn_is_resumed_under_a_higher_fence_and_forks_go_on() {
    let sample = sample();
    let _ = sample.agentctl.ok(&["import", FILE]);
    let node = node(&sample).start().await;
    let mut api = node.api().await;
    api.resume(TURNS).await.unwrap();
    let log = api.log(TURNS).await;
    assert!(log.starts_with(&sample.turns), "nothing recorded is rewritten");
    assert_eq!(kinds(&log[8..]), [EventOutput, EventEnd, EventLifecycle]);
    assert!(log[8..].iter().all(|record| record.fence > 2), "{log:?}");

    api.turn(FORK, "more").await;
    let request = ForkRequest { session: TURNS.into(), at_seq: 5, ..ForkRequest::default() };
    let child = api.fork(request).await.unwrap().remove(0).metadata.unwrap().uid;
    assert_eq!(api.log(&child).await[4].content_hash, sample.turns[4].content_hash);
    api.turn(&child, "more").await;
}

#[tokio::test]
async fn a_gate_that_was_open_is_decided_and_its_turn_ends() {
    let harness = ScriptedHarness::start().await;
    harness.does([Step::gate("c"), Step::output("not paid")]);
    let sample = Sample::new(&remote_spec(harness.address()));
    let _ = sample.agentctl.ok(&["import", FILE]);
    let node = node_for_remotes(&sample).start().await;
    let mut api = node.api().await;
    let gate = api.get(GATED).await.unwrap().pending_approval.unwrap();
    api.approve(decision(GATED, &gate, false)).await.unwrap();
    api.resume(GATED).await.unwrap();
    let added = [EventApprovalResult, EventToolResult, EventOutput, EventEnd, EventLifecycle];
    assert_eq!(kinds(&api.log(GATED).await[5..]), added);
}

#[tokio::test]
async fn registrations_keep_uid_digest_state_and_times() {
    let sample = sample();
    let _ = sample.agentctl.ok(&["import", FILE]);
    let node = node_for_remotes(&sample).start().await;
    let mut operator = node.operator().await;
    let active = operator.get("scripted").await.unwrap();
    assert_eq!((active.state(), &active.spec_digest), (HarnessState::Active, &sample.digest));
    assert_eq!(active.spec, Some(remote_spec("127.0.0.1:9")));
    let metadata = active.metadata.unwrap();
    let times = [metadata.create_time.unwrap().nanos, metadata.update_time.unwrap().nanos];
    assert_eq!((metadata.uid.as_str(), times), ("harness-scripted", [11, 12]));
    let retired = operator.get("old").await.unwrap();
    assert_eq!((retired.state(), retired.retire_reason.as_str()), (HarnessState::Retired, "slow"));
    assert_eq!((retired.retire_time.unwrap().nanos, retired.unservable_reason.as_str()), (13, ""));
    operator.register("counter", remote_spec("127.0.0.1:9")).await.expect_err("it is reserved");
}

#[tokio::test]
async fn a_second_import_changes_nothing_even_when_sessions_have_gone_on() {
    let sample = sample();
    let _ = sample.agentctl.ok(&["import", FILE]);
    {
        let mut node = node(&sample).start().await;
        node.api().await.turn(FORK, "gone on").await;
        node.kill();
    }
    let again = sample.agentctl.ok(&["import", FILE, "--output", "json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["sessions"], &again["records"], &again["present_sessions"]), (&0.into(), &0.into(), &3.into()));
    let verified = sample.agentctl.ok(&["verify", "--session", FORK]);
    assert!(verified.starts_with("ok session=sess-b records=11 "), "{verified}");
}

#[test]
fn an_import_killed_at_any_commit_is_finished_by_the_next_one() {
    for commit in 1.. {
        for failpoint in [Failpoint::BeforeCommit(commit), Failpoint::AfterCommit(commit)] {
            let sample = sample();
            let cut = sample.agentctl.run_into(failpoint, &["import", FILE]);
            if cut.code.is_some() {
                assert_eq!((cut.code, cut.stdout.as_str()), (Some(0), IMPORTED), "{}", cut.stderr);
                assert!(commit > 8, "format, import, 4 names and 3 sessions take 9 commits");
                return;
            }
            for line in sample.agentctl.ok(&["list"]).lines() {
                let uid = line.split('\t').next().unwrap();
                let verified = sample.agentctl.ok(&["verify", "--session", uid]);
                let whole = format!("ok session={uid} records={} ", sample.records(uid).len());
                assert!(verified.starts_with(&whole), "{failpoint:?}: {verified}");
            }
            let finished = sample.agentctl.ok(&["import", FILE]);
            assert!(finished.starts_with("ok "), "{failpoint:?}: {finished}");
            for session in [TURNS, FORK, GATED] {
                let verified = sample.agentctl.ok(&["verify", "--session", session]);
                assert!(verified.starts_with("ok "), "{failpoint:?}: {verified}");
            }
        }
    }
}

#[tokio::test]
async fn a_file_of_the_first_version_is_carried_over_with_its_harness_names_reserved() {
    let directory = tempfile::tempdir().unwrap();
    let file = ReferenceJournal::create_first_version(&directory.path().join(FILE));
    let question = ModelCall { model: "echo".into(), messages: vec![text("hello")], ..ModelCall::default() };
    let cut = [Of("").input("hello"), Of("").model_call(&question), Of("").output("echo:hello")];
    let cut = chain(None, cut.map(|event| (2, event)));
    let start = ExecutionStart { input_count: Some(0), harness: "theirs".into(), ..ExecutionStart::default() };
    let used = chain(None, [(1, Of("e1").start_with(start)), (1, Of("e1").end())]);
    for (uid, fence, records) in [("sess-cut", 2, &cut), ("sess-used", 1, &used)] {
        file.first_version_session(uid, fence);
        file.records(uid, records);
    }
    let _ = file.close();
    let printed = Agentctl::new(directory.path()).ok(&["import", FILE]);
    assert_eq!(printed, "ok file=reference.db sessions=2 records=5 present=0 harnesses=0 reserved=1\n");

    let node = NodeBuilder::new(directory.path()).operated().start().await;
    let mut api = node.api().await;
    assert_eq!(api.get("sess-cut").await.unwrap().metadata.unwrap().project, "default");
    api.resume("sess-cut").await.unwrap();
    let log = api.log("sess-cut").await;
    assert!(log.starts_with(&cut));
    assert_eq!(kinds(&log[3..]), [EventEnd, EventLifecycle]);
    let mut operator = node.operator().await;
    operator.register("theirs", remote_spec("127.0.0.1:9")).await.expect_err("it is reserved");
}

#[tokio::test]
async fn a_compute_state_that_does_not_follow_from_the_records_is_told() {
    let sample = sample();
    sample.change("UPDATE sessions SET compute_state = 'LIVE' WHERE session = 'sess-c'");
    let printed = sample.agentctl.ok(&["import", FILE]);
    assert_eq!(printed, format!("recomputed session=sess-c compute=COMPUTE_COLD stored=COMPUTE_LIVE\n{IMPORTED}"));
}
