//! Fork (execution.md §11, the stateless column). Its cost and its races: forks.rs.

use support::records::Of;
use support::{Described, Step, remote_spec};
use tonic::Code::{InvalidArgument, NotFound, Ok as Fine, Unavailable};
use wire::event::Body;
use wire::{ComputeState, ForkRequest, IdentityRef, ListSessionsRequest};

use super::world::{DOWN, GONE, HARNESS, World, bounded, code, event, fork_of, turn, uid};

/// Each row fails its step and the steps after it.
#[tokio::test]
async fn the_order_of_refusals() {
    let world = World::new().await;
    world.harness.describes(Described::Refused(Unavailable));
    let session = world.recorded([Of("e1").start(0)]).await;
    let lost = world.scribe.session(GONE, vec![]).await;
    let identity = Some(IdentityRef::default());
    let too_many = |session: &str| ForkRequest { count: 129, ..fork_of(session) };
    let table = [
        ("identity, even empty", ForkRequest { identity, ..too_many("") }, InvalidArgument),
        ("session empty", too_many(""), InvalidArgument),
        ("unknown", too_many("sess-000000000000000000000000"), NotFound),
        ("routing", ForkRequest { at_seq: 0, ..fork_of(&lost) }, InvalidArgument),
        ("count", too_many(&session), InvalidArgument),
        (
            "child_names",
            ForkRequest { count: 2, child_names: vec!["one".into()], ..fork_of(&session) },
            InvalidArgument,
        ),
        ("beyond the head", ForkRequest { at_seq: 2, ..fork_of(&session) }, InvalidArgument),
        ("admission", fork_of(&session), Unavailable),
    ];
    for (row, request, expected) in table {
        let outcome = world.api().fork(request).await;
        if row.starts_with("identity") {
            let said = "ForkRequest.identity is unsupported: per-child principals are not enforced";
            assert_eq!(outcome.as_ref().unwrap_err().message(), said);
        }
        assert_eq!(code(outcome), expected, "{row}");
    }
    let listed = world.api().client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed.sessions.len(), 2, "no child is listed");
}

#[tokio::test]
async fn positions_and_counts() {
    let world = World::new().await;
    world.harness.does([Step::output("x")]);
    let session = world.session().await;
    world.exec(turn(&session)).await;
    let parent = world.log(&session).await;
    let names = |count: i32| (0..count).map(|n| format!("child {n}")).collect::<Vec<_>>();
    // at_seq, count, shared records, children
    for (at_seq, count, shared, children) in [(0, 0, 4, 1), (-1, 1, 4, 1), (1, 2, 1, 2), (4, 128, 4, 128)] {
        let request = ForkRequest { at_seq, count, child_names: names(children), ..fork_of(&session) };
        let made = world.api().fork(request).await.unwrap();
        let got: Vec<_> = made.iter().map(|child| child.metadata.as_ref().unwrap().name.clone()).collect();
        assert_eq!(got, names(children), "children come back in order");
        for child in [made.first().unwrap(), made.last().unwrap()] {
            assert_eq!((child.last_seq, child.fork_seq, &child.parent_uid), (shared + 1, shared, &session));
            assert_eq!((child.compute_state(), child.harness.as_str()), (ComputeState::ComputeCold, HARNESS));
            let log = world.log(&uid(child)).await;
            let hashes =
                |log: &[wire::LogRecord]| log.iter().map(|record| record.content_hash.clone()).collect::<Vec<_>>();
            let shared = shared as usize;
            assert_eq!(hashes(&log[..shared]), hashes(&parent[..shared]));
            assert!(log.iter().all(|record| record.fence == 1));
            let Some(Body::Lifecycle(marker)) = &event(&log[shared]).body else { panic!("no marker") };
            assert_eq!(marker.detail, format!("parent@{shared}"));
        }
    }
    assert_eq!(world.log(&session).await, parent, "the parent is untouched");
}

#[tokio::test]
async fn a_parent_may_run_and_is_not_fenced() {
    let world = World::new().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    assert_eq!(world.fork(&session).await, Fine);
    world.harness.release();
    while bounded(live.message()).await.expect("the turn ends well").is_some() {}
    assert_eq!(world.words(&session).await, "START INPUT END");
}

#[tokio::test]
async fn a_child_is_independent_at_once() {
    let world = World::new().await;
    world.harness.does([Step::call(support::records::mediated("t")), Step::Wait]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    let child = world.child(&session, 1).await;
    let mut childs = world.waiting_turn(&child).await;
    world.harness.release();
    world.harness.release();
    for turn in [&mut live, &mut childs] {
        while bounded(turn.message()).await.expect("guard and fence are its own").is_some() {}
    }
    assert_eq!(world.tools.effects(), 2, "so are its keys");
}

#[tokio::test]
async fn a_retired_harness_s_sessions_fork_and_an_unserved_one_s_do_not() {
    let world = World::new().await;
    world.register("registered", remote_spec(world.harness.address())).await;
    let session = uid(&world.api().create("registered").await);
    world.node.operator().await.retire("registered", "").await.unwrap();
    assert_eq!(world.fork(&session).await, Fine);
    assert_eq!(world.fork(&world.scribe.session(DOWN, vec![]).await).await, Unavailable);
}
