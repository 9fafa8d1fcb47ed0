//! Opening a gate, parking, and what an open gate allows (execution.md §9.1 to §9.3, §9.5). A memory harness opens none
//! (§9.1): such a harness runs only on a placement with memory snapshots. Nor can a session be unknown there over gRPC.

use std::collections::BTreeMap;

use support::records::{Of, gated, mediated};
use support::{Described, Step, decision, remote_spec};
use tonic::Code::{Aborted, FailedPrecondition, Internal, Ok as Fine};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{
    ApprovalRef, ComputeState, Event, EventKind, ExecState, GetSessionRequest, ListSessionsRequest, ReplayRequest,
    Session, ToolCall,
};

use super::world::{DOWN, World, code, event, fork_of, gate, recovery, started_on, turn, uid};

/// §9.1: checks, before anything is recorded
#[tokio::test]
async fn gates_that_must_not_open() {
    let world = World::new().await;
    let keyless = ToolCall { idempotency_key: String::new(), ..gated("g") };
    let nameless = ToolCall { id: String::new(), ..gated("g") };
    let table = [
        ("empty call id", vec![Step::call(nameless)], FailedPrecondition, "ERROR"),
        (
            "id of an ordinary call",
            vec![Step::call(mediated("g")), Step::gate("g")],
            FailedPrecondition,
            "TOOL_CALL TOOL_RESULT ERROR",
        ),
        ("idempotency_key missing", vec![Step::call(keyless)], Internal, "ERROR"),
    ];
    for (row, steps, code, effects) in table {
        let session = world.session().await;
        assert_eq!(world.run(&session, steps).await.code, code, "{row}");
        assert_eq!(world.words(&session).await, format!("START INPUT {effects}"), "{row}");
    }
    let decided = world.gated().await;
    world.approve(&decided, false).await;
    world.harness.does([Step::gate("g"), Step::gate("g")]);
    assert_eq!(world.resume(&decided).await, FailedPrecondition, "id of a gated call");
    assert!(world.words(&decided).await.ends_with("TOOL_RESULT ERROR"));
}

/// §9.1 and §9.2
#[tokio::test]
async fn a_gate_opens_without_an_executor_and_parks() {
    let world = World::new().await;
    let bare = world.node_without_tools().await;
    world.harness.does([Step::output("x"), Step::gate("g"), Step::output("never")]);
    let session = world.session().await;
    let (updates, failure) = bare.api().await.exec(turn(&session)).await;
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(super::world::frames(&updates), "Session START INPUT OUTPUT TOOL_CALL APPROVAL_REQUEST SUSPEND Session");
    let log = world.log(&session).await;
    let execution = &event(&log[0]).execution_id;
    let Some(Body::Approval(request)) = &event(&log[4]).body else { panic!("no request") };
    assert_eq!((request.tool_call_id.as_str(), request.reason.as_str()), ("g", ""));
    let reference = ApprovalRef { execution_id: execution.clone(), tool_call_id: "g".into(), request_seq: 5 };
    let run = world.harness.runs().remove(0);
    assert_eq!(run.last().unwrap().frame, Some(Frame::Park(reference.clone())));
    assert_states(&world.get(&session).await, ComputeState::ComputeCold, Some(&reference));
    let fences: Vec<_> = log.iter().map(|record| record.fence).collect();
    assert!(fences.iter().all(|fence| *fence == fences[0]), "SUSPEND is under the turn's own fence");
}

fn assert_states(session: &Session, compute: ComputeState, gate: Option<&ApprovalRef>) {
    assert_eq!((session.compute_state(), session.pending_approval.as_ref()), (compute, gate));
    let expected = if gate.is_some() { ExecState::ExecAwaiting } else { ExecState::ExecCompleted };
    assert_eq!(session.exec_state(), expected);
}

fn event_of(execution: &str, kind: EventKind, body: impl Into<Option<Body>>) -> Event {
    Event::new(kind, body).of_execution(execution)
}

fn parked(reference: ApprovalRef) -> Event {
    let execution = reference.execution_id.clone();
    event_of(&execution, EventKind::EventParked, Body::Parked(reference))
}

fn after_parked(reference: ApprovalRef, kind: EventKind, body: impl Into<Option<Body>>) -> Vec<Event> {
    let execution = reference.execution_id.clone();
    vec![parked(reference), event_of(&execution, kind, body)]
}

/// §9.2 step 2 and the first two rows of failures
#[tokio::test]
async fn parks_that_fail() {
    let world = World::new().await;
    let ways: BTreeMap<&str, fn(ApprovalRef) -> Vec<Event>> = BTreeMap::from([
        ("missing acknowledgement", (|_| vec![]) as fn(ApprovalRef) -> Vec<Event>),
        ("another call", |it| vec![parked(ApprovalRef { tool_call_id: "h".into(), ..it })]),
        ("another request", |it| vec![parked(ApprovalRef { request_seq: 3, ..it })]),
        ("another execution in the tuple", |it| {
            let other = ApprovalRef { execution_id: "e".into(), ..it.clone() };
            vec![event_of(&it.execution_id, EventKind::EventParked, Body::Parked(other))]
        }),
        ("another execution", |it| vec![event_of("another", EventKind::EventParked, Body::Parked(it))]),
        ("no tuple", |it| vec![event_of(&it.execution_id, EventKind::EventParked, None)]),
        ("END instead", |it| vec![event_of(&it.execution_id, EventKind::EventEnd, None)]),
        ("END after PARKED", |it| after_parked(it, EventKind::EventEnd, None)),
        ("an effect after PARKED", |it| {
            let call = Body::Tool(mediated("t"));
            after_parked(it, EventKind::EventToolCall, call)
        }),
        ("PARKED twice", |it| vec![parked(it.clone()), parked(it)]),
    ]);
    for (row, way) in ways {
        let session = world.session().await;
        let executed = world.run(&session, [Step::ParkWith(way), Step::gate("g")]).await;
        assert_eq!(executed.code, Internal, "{row}");
        assert_eq!(
            world.words(&session).await,
            "START INPUT TOOL_CALL APPROVAL_REQUEST",
            "{row}: no SUSPEND, no ERROR"
        );
        let state = world.get(&session).await;
        let gate = state.pending_approval.clone().expect("the request stays");
        assert_states(&state, ComputeState::ComputeLive, Some(&gate));

        assert_eq!(world.suspend(&session).await, Fine, "{row}: an explicit Suspend");
        assert_states(&world.get(&session).await, ComputeState::ComputeCold, Some(&gate));
        assert_eq!(code(world.api().approve(decision(&session, &gate, false)).await), Fine, "{row}: it can be decided");
    }
    assert!(world.tools.calls().is_empty());
}

/// §9.2, last row: the SUSPEND is lost to another writer
#[tokio::test]
async fn a_park_whose_suspend_is_lost() {
    let world = World::new().await;
    let session = world.session().await;
    let dying = world.builder.clone().failpoint(support::Failpoint::BeforeCommit(3)).start().await;
    world.harness.does([Step::gate("g")]);
    dying.api().await.exec(turn(&session)).await.1.expect("the node dies before it suspends");
    let state = world.get(&session).await;
    assert_states(&state, ComputeState::ComputeLive, state.pending_approval.as_ref());
    assert!(state.pending_approval.is_some());

    // Another host writes between request and SUSPEND: the harness acknowledges only after that.
    let slow = world.session().await;
    world.harness.does([Step::ParkAfterRelease, Step::gate("g")]);
    let mut api = world.api();
    let (executed, ()) = tokio::join!(api.exec(turn(&slow)), async {
        world.harness.waiting().await;
        assert_eq!(world.words(&slow).await, "START INPUT TOOL_CALL APPROVAL_REQUEST");
        world.scribe.write(&slow, vec![support::records::marker(wire::lifecycle::Kind::LifecycleSuspend)]).await;
        world.harness.release();
    });
    assert_eq!(executed.1.unwrap().code(), Aborted);
    assert_eq!(world.words(&slow).await, "START INPUT TOOL_CALL APPROVAL_REQUEST SUSPEND", "only the other writer's");
}

/// §9.3
#[tokio::test]
async fn what_an_open_gate_allows() {
    let world = World::new().await;
    let session = world.gated().await;
    let mut client = world.api().client;
    let replay = ReplayRequest { session: session.clone(), ..ReplayRequest::default() };
    let table = [
        ("Exec with inputs", world.exec(turn(&session)).await.code, FailedPrecondition),
        ("Exec without inputs", world.exec(recovery(&session)).await.code, Fine),
        ("Resume", world.resume(&session).await, Fine),
        ("Suspend", world.suspend(&session).await, Fine),
        ("Fork", world.fork(&session).await, Fine),
        ("Get", code(client.get_session(GetSessionRequest { uid: session.clone() }).await), Fine),
        ("List", code(client.list_sessions(ListSessionsRequest::default()).await), Fine),
        ("Replay", code(client.replay(replay).await), Fine),
    ];
    for (call, outcome, expected) in table {
        assert_eq!(outcome, expected, "{call}");
    }
    assert_eq!(world.words(&session).await, "START TOOL_CALL APPROVAL_REQUEST SUSPEND");
    let on_a_harness_that_is_down = [vec![started_on(DOWN, "1")], gate()[1..].to_vec()].concat();
    let session = world.recorded(on_a_harness_that_is_down).await;
    assert_eq!(world.suspend(&session).await, Fine, "Suspend asks the recorded harness for nothing");
}

#[tokio::test]
async fn what_an_inherited_open_gate_allows() {
    let world = World::new().await;
    world.harness.does([]);
    let parent = world.gated().await;
    let children = world.api().fork(wire::ForkRequest { count: 4, ..fork_of(&parent) }).await.unwrap();
    let ids: Vec<String> = children.iter().map(uid).collect();
    assert!(children.iter().all(|child| child.pending_approval.is_none()));
    let table = [
        ("Approve", world.approve(&ids[0], true).await, FailedPrecondition),
        ("Resume", world.resume(&ids[1]).await, FailedPrecondition),
        ("Exec without inputs", world.exec(recovery(&ids[2])).await.code, FailedPrecondition),
        ("Exec with inputs", world.exec(turn(&ids[3])).await.code, Fine),
    ];
    for (call, outcome, expected) in table {
        assert_eq!(outcome, expected, "{call}");
    }
    assert_eq!(world.words(&ids[3]).await, "START TOOL_CALL APPROVAL_REQUEST FORK START INPUT END");
    assert_eq!(world.approve(&parent, true).await, Fine, "the parent's gate is its own");
}

/// §9.5
#[tokio::test]
async fn undecided_gates() {
    let world = World::new().await;
    world.harness.describes(Described::Refused(Internal));
    for by_resume in [true, false] {
        let recover = async |session: &str| {
            if by_resume { world.resume(session).await } else { world.exec(recovery(session)).await.code }
        };
        let session = world.gated().await;
        let before = world.get(&session).await;
        assert_eq!(recover(&session).await, Fine);
        assert_eq!(world.get(&session).await, before, "request recorded: nothing is written, no fence");

        let call_only = world.recorded(&gate()[..2]).await;
        let compute = world.get(&call_only).await.compute_state();
        assert_eq!(recover(&call_only).await, Fine);
        assert_eq!(world.words(&call_only).await, "START TOOL_CALL APPROVAL_REQUEST", "request missing: appended");
        let state = world.get(&call_only).await;
        assert_states(&state, compute, state.pending_approval.as_ref());
        assert_eq!(state.pending_approval.map(|gate| gate.request_seq), Some(3));
        let log = world.log(&call_only).await;
        assert!(log[2].fence > log[1].fence, "under a fence of its own");
        assert_eq!(event(&log[2]), &Of("e1").request("g"));
    }
    world.register("registered", remote_spec(world.harness.address())).await;
    let pinned = [vec![started_on("registered", "1")], gate()[1..].to_vec()].concat();
    assert_eq!(world.resume(&world.recorded(pinned.clone()).await).await, FailedPrecondition, "pins are checked first");
    let call_only = world.recorded(&pinned[..2]).await;
    assert_eq!(world.resume(&call_only).await, FailedPrecondition);
    assert_eq!(world.log(&call_only).await.len(), 2);
}
