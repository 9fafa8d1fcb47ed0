//! Sections 2.3, 4.2, 9.2 and 10 of execution.md on a scripted runtime.

use futures::FutureExt;
use wire::EventKind::{self, EventApprovalRequest, EventEnd, EventError, EventExecutionStart, EventInput};
use wire::EventKind::{EventLifecycle, EventOutput, EventToolCall};
use wire::{ComputeState, ExecState, ForkRequest, Resumability};

use super::*;
use crate::host::ErrorClass::{self, FailedPrecondition, Internal};
use crate::host::{Classified, HostError};
use crate::testing::host::{World, call};
use crate::testing::runtime::{Fault, Op};

/// The records of a turn, up to and after its OUTPUT.
const TURN: [EventKind; 4] = [EventExecutionStart, EventInput, EventOutput, EventEnd];

fn class<T>(outcome: Result<T, HostError>) -> Option<ErrorClass> {
    outcome.err().map(|error| error.class())
}

#[tokio::test]
async fn section_2_3_memory_harness_is_unplaceable_where_memory_is_not_kept() {
    let world = World::new().await;
    let session = &world.session;
    let writer = world.journal.mint(session).await.unwrap();
    world.runtime.script().memory_snapshot = false;
    let fork = ForkRequest { session: session.to_string(), ..ForkRequest::default() };
    for refused in [
        world.turn(session).await.map(drop),
        world.resume(session).await.map(drop),
        world.host.fork(fork, call(None)).await.map(drop),
    ] {
        assert!(matches!(refused, Err(HostError::Unplaceable(_))), "{refused:?}");
        assert_eq!(class(refused), Some(FailedPrecondition));
    }
    assert_eq!(world.state(session).await.last_seq, 0);
    assert!(world.is_unfenced(writer).await);
}

#[tokio::test]
async fn section_1_failed_runtimes_are_internal_and_leave_journal_and_fence_alone() {
    let world = World::new().await;
    let session = &world.session;
    world.turn(session).await.unwrap();
    world.suspend(session).await.unwrap();
    let (records, writer) = (world.log(session).await, world.journal.mint(session).await.unwrap());
    world.runtime.script().faults.extend([(Op::Restore, (0, Fault::Fails)), (Op::Snapshot, (0, Fault::Fails))]);
    assert_eq!(class(world.turn(session).await), Some(Internal));
    assert_eq!(class(world.resume(session).await), Some(Internal));
    assert_eq!(class(world.suspend(session).await), Some(Internal));
    assert_eq!(world.log(session).await, records);
    assert!(world.is_unfenced(writer).await);
}

#[tokio::test]
async fn section_4_2_a_harness_is_not_told_what_it_remembers() {
    let world = World::new().await;
    let session = &world.session;
    assert_eq!(world.turn(session).await.unwrap(), "turn 1, told 0");
    assert_eq!(world.turn(session).await.unwrap(), "turn 2, told 0", "it is live");
    world.suspend(session).await.unwrap();
    world.runtime.done();
    assert_eq!(world.turn(session).await.unwrap(), "turn 3, told 0", "it was restored");
    assert_eq!(world.turn(session).await.unwrap(), "turn 4, told 0");
    assert_eq!(world.runtime.done().iter().map(|(op, _)| *op).collect::<Vec<_>>(), [Op::Restore, Op::Create]);
}

#[tokio::test]
async fn section_4_2_a_harness_that_remembers_nothing_is_told_everything() {
    let world = World::new().await;
    let session = &world.session;
    world.turn(session).await.unwrap();
    world.runtime.script().live.clear();
    assert_eq!(world.turn(session).await.unwrap(), "turn 1, told 4", "lost before it was ever suspended");
    world.runtime.script().resumability = Resumability::StatelessReplay;
    assert_eq!(world.turn(session).await.unwrap(), "turn 2, told 8", "stateless, whatever its runtime keeps");
}

#[tokio::test]
async fn section_7_3_compute_that_is_ahead_of_the_log_is_not_live() {
    let world = World::new().await;
    let session = &world.session;
    world.turn(session).await.unwrap();
    world.suspend(session).await.unwrap();
    let (journal, uid) = (world.journal.clone(), session.clone());
    world.runtime.script().while_ending =
        Some(Box::new(move || async move { drop(journal.mint(&uid).await.unwrap()) }.boxed()));
    assert_eq!(class(world.turn(session).await), Some(ErrorClass::Aborted), "its END is not recorded");
    world.resume(session).await.unwrap();
    assert!(world.kinds(session).await.ends_with(&[EventOutput, EventEnd, EventLifecycle]), "it said `turn 2` again");
    assert_eq!(world.turn(session).await.unwrap(), "turn 3, told 0");
}

#[tokio::test]
async fn section_7_2_resume_restores_the_latest_own_suspend() {
    let world = World::new().await;
    let session = &world.session;
    world.turn(session).await.unwrap();
    world.suspend(session).await.unwrap();
    world.turn(session).await.unwrap();
    world.suspend(session).await.unwrap();
    world.runtime.script().breaks = true;
    assert_eq!(class(world.turn(session).await), Some(Internal));
    world.runtime.script().breaks = false;
    world.runtime.done();
    world.resume(session).await.unwrap();
    assert_eq!(world.runtime.done(), [(Op::Restore, session.to_string())]);
    let interrupted = [EventExecutionStart, EventInput, EventOutput, EventError, EventEnd, EventLifecycle];
    assert!(world.kinds(session).await.ends_with(&interrupted));
    assert_eq!(world.turn(session).await.unwrap(), "turn 4, told 0", "the output of turn 3 was served from its record");
}

#[tokio::test]
async fn section_10_suspend_names_the_snapshot_and_gives_the_compute_up() {
    let world = World::new().await;
    let session = &world.session;
    for (number, live) in [(0, false), (1, true), (2, false)] {
        if live {
            world.turn(session).await.unwrap();
        }
        world.runtime.done();
        let suspended = world.suspend(session).await.unwrap();
        assert_eq!(suspended.compute_state(), ComputeState::ComputeCold);
        let expected = Lifecycle {
            kind: Kind::LifecycleSuspend.into(),
            snapshot_local: session.to_string(),
            snapshot_external_uri: format!("scripted:{number}"),
            snapshot_memory: true,
            snapshot_sealed: true,
            ..Lifecycle::default()
        };
        assert_eq!(world.last_lifecycle(session).await, expected);
        let uid = || session.to_string();
        assert_eq!(world.runtime.done(), [(Op::Snapshot, uid()), (Op::Stop, uid())]);
    }
    assert_eq!(world.turn(session).await.unwrap(), "turn 2, told 0");
}

#[tokio::test]
async fn section_10_what_cannot_be_given_up_does_not_undo_a_suspend() {
    let world = World::new().await;
    let session = &world.session;
    world.turn(session).await.unwrap();
    world.runtime.script().faults.insert(Op::Stop, (0, Fault::Fails));
    assert_eq!(world.suspend(session).await.unwrap().compute_state(), ComputeState::ComputeCold);
    assert_eq!(world.turn(session).await.unwrap(), "turn 2, told 0");
}

#[tokio::test]
async fn section_9_2_a_park_without_snapshot_stays_awaiting_and_live_until_suspended() {
    let world = World::new().await;
    let session = &world.session;
    {
        let mut script = world.runtime.script();
        (script.resumability, script.gates) = (Resumability::StatelessReplay, true);
        script.faults.insert(Op::Snapshot, (0, Fault::Fails));
    }
    assert_eq!(class(world.turn(session).await), Some(Internal));
    let opened = [&TURN[..3], &[EventToolCall, EventApprovalRequest]].concat();
    assert_eq!(world.kinds(session).await, opened);
    let state = world.state(session).await;
    assert_eq!((state.exec_state(), state.compute_state()), (ExecState::ExecAwaiting, ComputeState::ComputeLive));

    assert_eq!(class(world.suspend(session).await), Some(Internal));
    assert_eq!(world.kinds(session).await, opened);
    world.runtime.script().faults.clear();
    let state = world.suspend(session).await.unwrap();
    assert_eq!((state.exec_state(), state.compute_state()), (ExecState::ExecAwaiting, ComputeState::ComputeCold));
    assert!(state.pending_approval.is_some());
}

#[tokio::test]
async fn section_9_2_a_park_names_its_snapshot() {
    let world = World::new().await;
    let session = &world.session;
    {
        let mut script = world.runtime.script();
        (script.resumability, script.gates) = (Resumability::StatelessReplay, true);
    }
    world.turn(session).await.unwrap();
    assert_eq!(world.last_lifecycle(session).await.snapshot_external_uri, "scripted:0");
    assert_eq!(world.state(session).await.compute_state(), ComputeState::ComputeCold);
}

#[tokio::test(start_paused = true)]
async fn every_wait_for_a_runtime_has_a_bound() {
    let world = World::new().await;
    let session = &world.session;
    let hangs = |op| world.runtime.script().faults.insert(op, (0, Fault::Hangs));
    hangs(Op::Create);
    assert_eq!(class(world.turn(session).await), Some(ErrorClass::Unavailable));
    hangs(Op::Stop);
    assert_eq!(class(world.suspend(session).await), None);
    hangs(Op::Snapshot);
    assert_eq!(class(world.suspend(session).await), Some(Internal));
}
