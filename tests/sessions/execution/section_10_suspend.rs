//! Suspend and the markers of Resume (execution.md §10). Placements with snapshots of memory are another's.

use support::records::Of;
use support::{Described, Step};
use tonic::Code::{self, Aborted, FailedPrecondition, InvalidArgument, NotFound, Ok as Fine};
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{ComputeState, Lifecycle, LogRecord};

use super::world::{GONE, HARNESS, World, event, gate, started_on, turn};

fn body(record: &LogRecord) -> &Lifecycle {
    match &event(record).body {
        Some(Body::Lifecycle(marker)) => marker,
        other => panic!("no marker: {other:?}"),
    }
}

#[tokio::test]
async fn the_order_of_a_suspend() {
    let world = World::new().await;
    let broken = world.scribe.session(GONE, [gate(), vec![Of("e1").request("g")]].concat()).await;
    assert_eq!(world.suspend("").await, InvalidArgument);
    assert_eq!(world.suspend("sess-000000000000000000000000").await, NotFound);
    assert_eq!(world.suspend(&broken).await, FailedPrecondition, "evidence before the choice of a harness");
    world.harness.does([Step::Wait]);
    let live = world.session().await;
    let _turn = world.waiting_turn(&live).await;
    assert_eq!(world.suspend(&live).await, Aborted, "guard");
    assert_eq!(world.words(&broken).await, "START TOOL_CALL APPROVAL_REQUEST APPROVAL_REQUEST", "nothing is written");
}

#[tokio::test]
async fn the_harness_of_a_suspend() {
    let world = World::new().await;
    world.harness.describes(Described::Refused(Code::Internal));
    world.register("registered", support::remote_spec(world.harness.address())).await;
    let open_on = |harness: &str| [vec![started_on(harness, "9")], gate()[1..].to_vec()].concat();
    let decided = [gate(), vec![Of("e1").decision("g", 3, true)]].concat();
    let interrupted = || vec![started_on(GONE, "1")];
    let table = [
        ("owned gate, its recorded name", GONE, open_on(HARNESS), Fine),
        ("owned gate, decided", GONE, decided, Fine),
        ("owned gate, unserved", HARNESS, open_on(GONE), FailedPrecondition),
        ("owned gate, pinned", HARNESS, open_on("registered"), FailedPrecondition),
        ("else the stored one", HARNESS, interrupted(), Fine),
        ("else the stored one, unknown", GONE, interrupted(), InvalidArgument),
    ];
    for (row, stored, log, expected) in table {
        let session = world.scribe.session(stored, log).await;
        assert_eq!(world.suspend(&session).await, expected, "{row}");
    }
}

#[tokio::test]
async fn what_suspend_and_resume_record() {
    let world = World::new().await;
    let session = world.session().await;
    let suspended = world.api().suspend(&session).await.unwrap();
    assert_eq!(suspended.compute_state(), ComputeState::ComputeCold, "allowed on an empty session");
    assert_eq!(world.suspend(&session).await, Fine, "and on a suspended one");
    let resumed = world.api().resume(&session).await.unwrap();
    assert_eq!(resumed.compute_state(), ComputeState::ComputeLive);
    assert_eq!(world.resume(&session).await, Fine, "each call appends another RESUME");
    let log = world.log(&session).await;
    assert_eq!(super::world::words(&log), "SUSPEND SUSPEND RESUME RESUME");
    let suspend =
        Lifecycle { kind: Kind::LifecycleSuspend.into(), snapshot_local: session.clone(), ..Default::default() };
    assert_eq!(*body(&log[0]), suspend);
    assert_eq!(*body(&log[2]), Lifecycle { kind: Kind::LifecycleResume.into(), ..Default::default() });
    let fences: Vec<_> = log.iter().map(|record| record.fence).collect();
    assert_eq!(fences, [1, 2, 3, 4], "each under a fence of its own");
    assert!(log.iter().all(|record| event(record).execution_id.is_empty()));
}

#[tokio::test]
async fn an_exec_after_suspend_needs_no_resume() {
    let world = World::new().await;
    world.harness.does([]);
    let session = world.session().await;
    world.suspend(&session).await;
    assert_eq!(world.exec(turn(&session)).await.code, Fine);
    assert_eq!(world.words(&session).await, "SUSPEND START INPUT END");
    assert_eq!(world.get(&session).await.compute_state(), ComputeState::ComputeLive);
}
