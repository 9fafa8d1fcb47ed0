//! The memory column of execution.md §11 on a scripted runtime.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use wire::EventKind::EventLifecycle;
use wire::lifecycle::Kind;
use wire::{ComputeState, ForkRequest, ForkResponse, ListSessionsRequest};

use super::*;
use crate::host::Classified;
use crate::host::ErrorClass::{self, Aborted, DeadlineExceeded, FailedPrecondition, Internal};
use crate::testing::events::Of;
use crate::testing::host::{World, call};
use crate::testing::runtime::{Fault, Op};

/// The head of a session after one turn.
const HEAD: i64 = 4;

impl World {
    /// A world whose session has run one turn.
    async fn after_a_turn() -> Self {
        let world = Self::new().await;
        world.turn(&world.session).await.unwrap();
        world.runtime.done();
        world
    }

    fn request(&self, at_seq: i64, count: i32) -> ForkRequest {
        ForkRequest { session: self.session.to_string(), at_seq, count, ..ForkRequest::default() }
    }

    async fn fork(&self, at_seq: i64, count: i32) -> Result<ForkResponse, ErrorClass> {
        self.host.fork(self.request(at_seq, count), call(None)).await.map_err(|error| error.class())
    }

    /// Whether the session has been suspended, and is the only one.
    async fn is_suspended_and_childless(&self) -> bool {
        self.assert_childless().await;
        let state = self.state(&self.session).await;
        let last = self.last_lifecycle(&self.session).await;
        (state.last_seq, state.compute_state(), last.kind())
            == (HEAD + 1, ComputeState::ComputeCold, Kind::LifecycleSuspend)
    }

    async fn assert_childless(&self) {
        let listed = self.host.list(ListSessionsRequest::default()).await.unwrap().sessions;
        assert_eq!(listed.len(), 1, "children are listed");
    }

    /// What was done, without the sessions it was done for.
    fn ops(&self) -> Vec<Op> {
        self.runtime.done().into_iter().map(|(op, _)| op).collect()
    }
}

#[tokio::test]
async fn children_go_on_from_the_memory_of_their_parent() {
    let world = World::after_a_turn().await;
    let parent = &world.session;
    let children = world.fork(0, 2).await.unwrap().children;
    assert_eq!(world.ops(), [Op::Snapshot, Op::Stop, Op::Fork, Op::Fork]);
    assert!(world.log(parent).await.len() == 5 && world.last_lifecycle(parent).await.snapshot_memory);
    for child in &children {
        let uid = SessionUid::parse(&child.metadata.as_ref().unwrap().uid).unwrap();
        assert_eq!((child.parent_uid.as_str(), child.fork_seq, child.last_seq), (parent.as_str(), HEAD, HEAD + 1));
        assert_eq!(child.compute_state(), ComputeState::ComputeCold);
        // The parent's SUSPEND has this seq in the parent.
        assert_eq!(world.last_lifecycle(&uid).await.detail, "parent@4");
        assert_eq!(world.turn(&uid).await.unwrap(), "turn 2, told 0");
        world.suspend(&uid).await.unwrap();
        assert_eq!(world.turn(&uid).await.unwrap(), "turn 3, told 0");
    }
    assert_eq!(children.len(), 2);
    assert_eq!(world.turn(parent).await.unwrap(), "turn 2, told 0");
}

#[tokio::test]
async fn only_the_head_can_be_forked_and_a_refusal_fences_nobody() {
    let world = World::after_a_turn().await;
    let writer = world.journal.mint(&world.session).await.unwrap();
    for at in [1, HEAD - 1] {
        assert_eq!(world.fork(at, 1).await.err(), Some(FailedPrecondition));
    }
    assert_eq!(world.fork(HEAD + 1, 1).await.err(), Some(ErrorClass::InvalidArgument), "there is no such record");
    assert_eq!(world.ops(), []);
    world.assert_childless().await;
    assert_eq!(world.state(&world.session).await.last_seq, HEAD);
    assert!(world.is_unfenced(writer).await);
}

#[tokio::test]
async fn a_parent_that_is_busy_here_is_left_alone() {
    let world = World::after_a_turn().await;
    let busy = world.host.guards.try_take(&world.session).unwrap();
    assert_eq!(world.fork(HEAD, 1).await.err(), Some(Aborted));
    assert_eq!(world.ops(), []);
    drop(busy);
    assert_eq!(world.fork(HEAD, 1).await.unwrap().children.len(), 1);
}

#[tokio::test]
async fn a_fork_shuts_out_whoever_runs_the_parent() {
    let world = World::after_a_turn().await;
    let mut writer = world.journal.mint(&world.session).await.unwrap();
    assert_eq!(world.fork(HEAD, 1).await.unwrap().children.len(), 1);
    assert!(world.journal.append(&mut writer, vec![Of("other").error()]).await.is_err());
}

#[tokio::test]
async fn a_head_that_moves_before_the_fence_is_aborted() {
    let world = World::after_a_turn().await;
    let (journal, session) = (world.journal.clone(), world.session.clone());
    world.runtime.script().while_described = Some(Box::new(move || {
        async move {
            let mut writer = journal.mint(&session).await.unwrap();
            journal.append(&mut writer, vec![Of("other").error()]).await.unwrap();
        }
        .boxed()
    }));
    assert_eq!(world.fork(HEAD, 1).await.err(), Some(Aborted));
    assert_eq!(world.ops(), [], "no snapshot is taken");
    world.assert_childless().await;
    assert_eq!(world.state(&world.session).await.last_seq, HEAD + 1);
}

#[tokio::test]
async fn a_writer_that_wins_during_the_snapshot_keeps_the_suspend_out() {
    let world = World::after_a_turn().await;
    let (journal, session) = (world.journal.clone(), world.session.clone());
    world
        .runtime
        .script()
        .meanwhile
        .insert(Op::Snapshot, Box::new(move || async move { drop(journal.mint(&session).await.unwrap()) }.boxed()));
    assert_eq!(world.fork(HEAD, 1).await.err(), Some(Aborted));
    assert_eq!(world.ops(), [Op::Snapshot], "the compute is not given up");
    world.assert_childless().await;
    assert_eq!(world.state(&world.session).await.last_seq, HEAD);
}

#[tokio::test]
async fn a_failed_snapshot_leaves_the_parent_as_it_is() {
    let world = World::after_a_turn().await;
    world.runtime.script().faults.insert(Op::Snapshot, (0, Fault::Fails));
    assert_eq!(world.fork(HEAD, 1).await.err(), Some(Internal));
    world.assert_childless().await;
    let state = world.state(&world.session).await;
    assert_eq!((state.last_seq, state.compute_state()), (HEAD, ComputeState::ComputeLive));
}

#[tokio::test]
async fn a_snapshot_without_external_handle_is_refused_after_the_suspend() {
    let world = World::after_a_turn().await;
    world.runtime.script().external_handles = false;
    assert_eq!(world.fork(HEAD, 1).await.err(), Some(FailedPrecondition));
    assert_eq!(world.ops(), [Op::Snapshot, Op::Stop]);
    assert!(world.is_suspended_and_childless().await);
}

#[tokio::test]
async fn one_failed_clone_takes_all_down_and_the_parent_stays_cold() {
    let world = World::after_a_turn().await;
    world.runtime.script().faults.insert(Op::Fork, (2, Fault::Fails));
    assert_eq!(world.fork(HEAD, 3).await.err(), Some(Internal));
    assert!(world.is_suspended_and_childless().await);
    let done = world.runtime.done();
    let of = |op| done.iter().filter(move |(done, _)| *done == op).map(|(_, uid)| uid.clone());
    let (mut cloned, mut stopped): (Vec<_>, Vec<_>) = (of(Op::Fork).collect(), of(Op::Stop).skip(1).collect());
    cloned.sort();
    stopped.sort();
    assert_eq!((cloned.len(), &cloned), (3, &stopped));
    assert!(world.runtime.script().live.is_empty());
}

#[tokio::test]
async fn children_that_the_journal_refuses_are_taken_down() {
    let world = World::after_a_turn().await;
    let names = vec!["x".repeat(70_000)];
    let request = ForkRequest { child_names: names, ..world.request(HEAD, 1) };
    assert!(world.host.fork(request, call(None)).await.is_err());
    assert!(world.is_suspended_and_childless().await);
    assert_eq!(world.ops(), [Op::Snapshot, Op::Stop, Op::Fork, Op::Stop]);
}

#[tokio::test(start_paused = true)]
async fn taking_down_outlives_the_deadline_of_the_caller_by_30_s_at_most() {
    let world = World::after_a_turn().await;
    world.runtime.script().faults.insert(Op::Fork, (1, Fault::Hangs));
    world.runtime.script().faults.insert(Op::Stop, (1, Fault::Hangs));
    let begun = Instant::now();
    let bound = call(Some(begun + Duration::from_secs(5)));
    let refused = world.host.fork(world.request(HEAD, 3), bound).await;
    assert_eq!(refused.err().map(|error| error.class()), Some(DeadlineExceeded));
    assert_eq!(begun.elapsed().as_secs(), 35);
    assert_eq!(world.ops().iter().filter(|&&op| op == Op::Stop).count(), 4, "the parent and each child");
    assert!(world.is_suspended_and_childless().await);
}

#[tokio::test(start_paused = true)]
async fn taking_down_does_not_need_the_caller() {
    let world = World::after_a_turn().await;
    world.runtime.script().faults.insert(Op::Fork, (1, Fault::Hangs));
    let fork = world.host.fork(world.request(HEAD, 2), call(None));
    assert!(tokio::time::timeout(Duration::from_secs(5), fork).await.is_err());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !world.runtime.script().live.is_empty() {
        assert!(Instant::now() < deadline, "a clone is left behind");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(world.kinds(&world.session).await.last(), Some(&EventLifecycle));
    assert!(world.is_suspended_and_childless().await);
}
