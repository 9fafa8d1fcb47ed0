//! Routing and admission (execution.md §2). Registered harnesses and contested names: tests/registry/section_4_sessions.rs
//! and section_5_startup.rs. That Describe is asked on the connection that the turn uses (§2.3 step 4):
//! services/harness/tests/adapters/describing.rs.

use support::records::{Of, marker};
use support::{Described, Step, descriptor, remote_spec};
use tonic::Code::{Aborted, FailedPrecondition, InvalidArgument, NotFound, Ok as Fine, Unavailable};
use wire::lifecycle::Kind;
use wire::{
    ApproveRequest, Capabilities, ExecRequest, GetSessionRequest, HarnessDescriptor, HarnessSpec, ListSessionsRequest,
    Resumability,
};

use super::world::{DOWN, GONE, HARNESS, OTHER, World, bounded, code, decide, fork_of, started_on, turn};

const UNKNOWN: &str = "sess-000000000000000000000000";

/// §2.1
#[tokio::test]
async fn the_guard_refuses_at_once_and_leaves_no_trace_and_reads_and_forks_do_not_take_it() {
    let world = World::new().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    let before = world.get(&session).await;
    let override_of_the_harness = ExecRequest { harness: OTHER.into(), ..turn(&session) };
    assert_eq!(world.exec(override_of_the_harness).await.code, Aborted, "the guard is shared by all harnesses");
    let refused = [
        ("Exec", bounded(world.exec(turn(&session))).await.code),
        ("Resume", bounded(world.resume(&session)).await),
        ("Suspend", bounded(world.suspend(&session)).await),
        ("Approve", bounded(world.approve(&session, true)).await),
    ];
    for (call, code) in refused {
        assert_eq!(code, Aborted, "{call}");
    }
    let mut client = world.api().client;
    let free = [
        ("Create", code(world.api().client.create_session(wire::CreateSessionRequest::default()).await)),
        ("Get", code(client.get_session(GetSessionRequest { uid: session.clone() }).await)),
        ("List", code(client.list_sessions(ListSessionsRequest::default()).await)),
        ("Replay", code(client.replay(wire::ReplayRequest { session: session.clone(), ..Default::default() }).await)),
        ("Fork", world.fork(&session).await),
    ];
    for (call, code) in free {
        assert_eq!(code, Fine, "{call}");
    }
    assert_eq!(world.get(&session).await, before, "journal and cursor are untouched");
    world.harness.release();
    while bounded(live.message()).await.expect("so is the fence").is_some() {}
}

#[tokio::test]
async fn between_hosts_only_fence_and_compare_and_set_protect() {
    let world = World::new().await;
    let elsewhere = world.builder.start().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let _live = world.waiting_turn(&session).await;
    assert_eq!(code(elsewhere.api().await.suspend(&session).await), Fine, "no guard there");
}

/// §2.2 steps 1 and 2
#[tokio::test]
async fn sessions_that_are_not_there() {
    let world = World::new().await;
    world.harness.does([]);
    let approve = ApproveRequest { session: String::new(), ..decide("", true) };
    let empty = [
        world.resume("").await,
        world.suspend("").await,
        world.fork("").await,
        code(world.api().approve(approve).await),
    ];
    assert_eq!(empty, [InvalidArgument; 4]);
    assert_eq!(world.exec(ExecRequest { harness: HARNESS.into(), ..turn("") }).await.code, Fine, "Exec creates one");
    for (named, expected) in [("", NotFound), (HARNESS, NotFound), (GONE, InvalidArgument)] {
        let executed = world.exec(ExecRequest { harness: named.into(), ..turn(UNKNOWN) }).await;
        assert_eq!((executed.code, executed.frames.as_str()), (expected, ""), "override {named:?}");
    }
    let unknown = [
        world.resume(UNKNOWN).await,
        world.suspend(UNKNOWN).await,
        world.fork(UNKNOWN).await,
        world.approve(UNKNOWN, true).await,
    ];
    assert_eq!(unknown, [NotFound; 4]);
}

/// §2.2 steps 3, 5.2 and 6
#[tokio::test]
async fn which_harness_runs() {
    let world = World::new().await;
    world.harness.does([]);
    let recorded_on = async |stored: &str, named: &str| {
        let session = world.scribe.session(stored, vec![]).await;
        let executed = world.exec(ExecRequest { harness: named.into(), ..turn(&session) }).await;
        let harness = executed.records.first().map(|start| match &super::world::event(start).body {
            Some(wire::event::Body::ExecutionStart(start)) => start.harness.clone(),
            _ => panic!("no START first"),
        });
        (executed.code, harness.unwrap_or_default())
    };
    let table = [
        ("3. none stored", "", "", Fine, "echo"),
        ("the stored one", HARNESS, "", Fine, HARNESS),
        ("an override that equals it is none", HARNESS, HARNESS, Fine, HARNESS),
        ("a static override of a static one", HARNESS, OTHER, Fine, OTHER),
        ("5.2 unknown override", HARNESS, GONE, InvalidArgument, ""),
        ("6. unknown stored", GONE, "", InvalidArgument, ""),
        ("a known override of an unknown stored one", GONE, HARNESS, Fine, HARNESS),
    ];
    for (row, stored, named, code, harness) in table {
        assert_eq!(recorded_on(stored, named).await, (code, harness.to_owned()), "{row}");
    }
}

/// §2.2 step 5.1 and step 6, isolated
#[tokio::test]
async fn registered_harnesses_are_pinned_and_isolated_ones_run_nothing() {
    let world = World::new().await;
    world.register("registered", remote_spec(world.harness.address())).await;
    let on = async |stored: &str, named: &str| {
        let session = world.scribe.session(stored, vec![]).await;
        world.exec(ExecRequest { harness: named.into(), ..turn(&session) }).await
    };
    for (stored, named) in [("registered", HARNESS), ("registered", GONE), (HARNESS, "registered")] {
        let executed = on(stored, named).await;
        assert_eq!((executed.code, executed.frames.as_str()), (FailedPrecondition, ""), "{stored}, override {named}");
    }
    assert_eq!(on("registered", "registered").await.code, Fine, "no override");
    let without_model = support::NodeBuilder::new(world.directory.path()).start().await;
    let session = world.scribe.session("registered", vec![]).await;
    let mut api = without_model.api().await;
    assert_eq!(code(api.resume(&session).await), FailedPrecondition, "isolated there");
}

/// §2.3: the order of 1 to 3, by what is told when several fail
#[tokio::test]
async fn admission_describes_then_compares_the_id_then_the_capabilities() {
    let world = World::new().await;
    let spec = HarnessSpec { descriptor_id: "scripted".into(), ..remote_spec(world.harness.address()) };
    world.register("registered", spec).await;
    let resumability = Resumability::RequiresMemorySnapshot.into();
    let capabilities = Some(Capabilities { resumability, requires_gpu: false, ..Capabilities::default() });
    let memory = |id: &str| Described::As(HarnessDescriptor { id: id.into(), capabilities, ..descriptor() });
    let gpu = Capabilities { requires_gpu: true, fork_safe: false, ..Capabilities::default() };
    let table = [
        ("1. Describe", Described::Refused(Unavailable), Unavailable, ""),
        ("2. descriptor id", memory("another"), FailedPrecondition, "describes itself as"),
        ("3. capabilities", memory("scripted"), FailedPrecondition, "memory"),
        (
            "no other placement rule",
            Described::As(HarnessDescriptor { capabilities: Some(gpu), ..descriptor() }),
            Fine,
            "",
        ),
    ];
    let session = world.scribe.session("registered", vec![Of("e1").start(0)]).await;
    world.harness.does([]);
    for (row, described, expected, told) in table {
        world.harness.describes(described);
        let outcome = world.api().resume(&session).await;
        let message = outcome.as_ref().err().map_or("", |status| status.message()).to_owned();
        assert!(message.contains(told), "{row}: {message}");
        assert_eq!(code(outcome), expected, "{row}");
        if expected != Fine {
            assert_eq!(world.words(&session).await, "START", "{row}: the journal is untouched");
        }
    }
}

/// §2.3 steps 5 and 6: a failure in admission leaves the fence untouched
#[tokio::test]
async fn a_refused_admission_fences_nobody_out() {
    let world = World::new().await;
    let elsewhere = world.builder.start().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    world.harness.describes(Described::Refused(Unavailable));
    let (_, failure) = elsewhere.api().await.exec(turn(&session)).await;
    assert_eq!(failure.unwrap().code(), Unavailable);
    assert_eq!(code(elsewhere.api().await.resume(&session).await), Unavailable);
    world.harness.release();
    while bounded(live.message()).await.expect("the turn ends well").is_some() {}
}

#[tokio::test]
async fn with_the_harness_down_resume_of_a_finished_session_is_unavailable_and_suspend_works() {
    let world = World::new().await;
    let session = world.scribe.session(DOWN, vec![started_on(DOWN, ""), Of("e1").end()]).await;
    assert_eq!(world.resume(&session).await, Unavailable);
    assert_eq!(world.suspend(&session).await, Fine);
    assert_eq!(world.resume(&session).await, Unavailable, "suspended or not");
    assert_eq!(world.words(&session).await, "START END SUSPEND");
    let child = world.scribe.session(DOWN, vec![marker(Kind::LifecycleResume)]).await;
    assert_eq!(code(world.api().fork(fork_of(&child)).await), Unavailable);
}

/// §2.2, 5.5
#[tokio::test]
async fn a_session_of_a_harness_that_says_it_keeps_memory_is_not_run_by_one_that_replays() {
    let directory = tempfile::tempdir().unwrap();
    let memory = support::serve_harness(harness::Counter::default()).await;
    let node = support::NodeBuilder::new(directory.path()).harness("memory", &memory).start().await;
    let mut api = node.api().await;
    let session = api.create("memory").await.metadata.unwrap().uid;
    let (_, failure) = api.exec(ExecRequest { harness: "echo".into(), ..turn(&session) }).await;
    assert_eq!(failure.unwrap().code(), FailedPrecondition);
    assert_eq!(api.log(&session).await, []);
}
