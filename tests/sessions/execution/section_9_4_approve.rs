//! Approve (execution.md §9.4).

use support::records::{Of, gated, receipt};
use support::{Described, Step};
use tonic::Code::{Aborted, FailedPrecondition, InvalidArgument, NotFound, Ok as Fine};
use wire::{ApproveRequest, ComputeState, ExecState, IdentityRef};

use super::world::{GONE, HARNESS, World, code, decide, event, gate, started_on, unix_in};

const UNKNOWN: &str = "sess-000000000000000000000000";

/// Steps 1 to 5: each row fails its step and, where it can, later ones too.
#[tokio::test]
async fn the_order_of_refusals() {
    let world = World::new().await;
    let session = world.gated().await;
    let broken = world.recorded([gate(), vec![Of("e1").request("g")]].concat()).await;
    let inherited = world.child(&session, 3).await;
    let whole = || decide(&session, true);
    let table = [
        ("1. session", ApproveRequest { session: String::new(), ..whole() }, InvalidArgument),
        ("1. execution_id", ApproveRequest { execution_id: String::new(), ..decide(UNKNOWN, true) }, InvalidArgument),
        ("1. tool_call_id", ApproveRequest { tool_call_id: String::new(), ..decide(UNKNOWN, true) }, InvalidArgument),
        ("1. request_seq 0", ApproveRequest { request_seq: 0, ..decide(UNKNOWN, true) }, InvalidArgument),
        ("1. request_seq negative", ApproveRequest { request_seq: -3, ..decide(UNKNOWN, true) }, InvalidArgument),
        ("1. approved", ApproveRequest { approved: None, ..decide(UNKNOWN, true) }, InvalidArgument),
        ("2. unknown session", decide(UNKNOWN, true), NotFound),
        ("4. evidence", decide(&broken, true), FailedPrecondition),
        ("5. another execution", ApproveRequest { execution_id: "e2".into(), ..whole() }, FailedPrecondition),
        ("5. another call", ApproveRequest { tool_call_id: "h".into(), ..whole() }, FailedPrecondition),
        ("5. another request", ApproveRequest { request_seq: 2, ..whole() }, FailedPrecondition),
        ("5. inherited", decide(&inherited, true), FailedPrecondition),
    ];
    for (row, request, expected) in table {
        assert_eq!(code(world.api().approve(request).await), expected, "{row}");
    }
    assert_eq!(world.api().get(UNKNOWN).await.unwrap_err().code(), NotFound, "it never creates one");
    assert_eq!(world.log(&session).await.len(), 3, "nothing was written");

    world.harness.does([Step::Wait]);
    let live = world.session().await;
    let _turn = world.waiting_turn(&live).await;
    assert_eq!(world.approve(&live, true).await, Aborted, "3. guard, before the scan and 5");
}

/// Step 6
#[tokio::test]
async fn a_decision_is_made_once_and_told_again() {
    let world = World::new().await;
    let session = world.gated().await;
    let identity = |principal: &str| Some(IdentityRef { principal: principal.into(), ..IdentityRef::default() });
    let request = ApproveRequest { reason: "fine".into(), identity: identity("mary"), ..decide(&session, true) };
    let first = world.api().approve(request.clone()).await.unwrap();
    let fence = first.decision.as_ref().unwrap().fence;
    let others = [
        ("approved", ApproveRequest { approved: Some(false), ..request.clone() }),
        ("reason", ApproveRequest { reason: String::new(), ..request.clone() }),
        ("identity", ApproveRequest { identity: identity("john"), ..request.clone() }),
        ("no identity", ApproveRequest { identity: None, ..request.clone() }),
    ];
    let same = async |when: &str| {
        let again = world.api().approve(request.clone()).await.unwrap();
        assert_eq!(again.decision, first.decision, "{when}: that very record");
        for (member, other) in &others {
            assert_eq!(code(world.api().approve(other.clone()).await), FailedPrecondition, "{when}, another {member}");
        }
    };
    same("decided").await;
    assert_eq!(world.log(&session).await.len(), 4, "no append");
    world.harness.does([Step::gate("g"), Step::Break]);
    world.resume(&session).await;
    same("receipt").await;
    world.harness.does([Step::gate("g")]);
    assert_eq!(world.resume(&session).await, Fine);
    same("END").await;
    world.harness.does([]);
    world.exec(super::world::turn(&session)).await;
    same("newer turn").await;
    let log = world.log(&session).await;
    assert_eq!(log[4].fence, fence + 1, "repeating a decision mints no fence");

    let anonymous = world.gated().await;
    world.approve(&anonymous, true).await;
    let empty = ApproveRequest { identity: Some(IdentityRef::default()), ..decide(&anonymous, true) };
    assert_eq!(code(world.api().approve(empty).await), Fine, "an absent identity equals an all-empty one");
}

/// Step 7
#[tokio::test]
async fn only_the_last_gate_of_the_latest_execution_can_be_decided() {
    let world = World::new().await;
    let newer = world.recorded([gate(), vec![Of("e2").start(0)]].concat()).await;
    assert_eq!(world.approve(&newer, true).await, FailedPrecondition, "superseded by a newer execution");
    let second = vec![
        Of("e1").decision("g", 3, true),
        Of("e1").result(receipt("g", 3, 4)),
        Of("e1").call(gated("h")),
        Of("e1").request("h"),
    ];
    let session = world.recorded([gate(), second].concat()).await;
    let last = ApproveRequest { tool_call_id: "h".into(), request_seq: 7, ..decide(&session, true) };
    assert_eq!(code(world.api().approve(last).await), Fine, "the last gate");
}

/// Steps 8 and 9
#[tokio::test]
async fn what_a_decision_records_and_replies() {
    let world = World::new().await;
    let session = world.gated().await;
    let before = world.get(&session).await;
    let identity = IdentityRef { principal: "mary".into(), issuer: "office".into(), subject: "7".into() };
    let request = ApproveRequest { reason: "fine".into(), identity: Some(identity.clone()), ..decide(&session, true) };
    let started = unix_in(0);
    let response = world.api().approve(request).await.unwrap();
    let decision = response.decision.unwrap();
    assert_eq!(world.log(&session).await[3], decision);
    let recorded = event(&decision);
    let ts = recorded.ts.as_ref().unwrap().seconds;
    assert!((started..started + 60).contains(&ts), "{ts}");
    let body = match Of("e1").decision("g", 3, true).body {
        Some(wire::event::Body::ApprovalResult(result)) => wire::ApprovalResult { reason: "fine".into(), ..result },
        other => panic!("{other:?}"),
    };
    assert_eq!((recorded.execution_id.as_str(), recorded.actor.as_ref()), ("e1", Some(&identity)));
    assert_eq!(recorded.body, Some(wire::event::Body::ApprovalResult(body)));
    assert!(decision.fence > world.log(&session).await[2].fence);
    let after = response.session.unwrap();
    assert_eq!(after, world.get(&session).await);
    assert_eq!((after.pending_approval.as_ref(), after.exec_state()), (None, ExecState::ExecCompleted));
    assert_eq!(after.compute_state(), before.compute_state(), "compute unchanged");
    assert_eq!(before.compute_state(), ComputeState::ComputeLive);

    let anonymous = world.gated().await;
    world.approve(&anonymous, false).await;
    assert_eq!(event(&world.log(&anonymous).await[3]).actor, None);
}

/// The last sentence
#[tokio::test]
async fn a_decision_asks_for_no_harness_and_runs_nothing() {
    let world = World::new().await;
    world.harness.describes(Described::Refused(tonic::Code::Internal));
    for (stored, recorded) in [(HARNESS, HARNESS), (HARNESS, GONE), (GONE, GONE)] {
        let log = [vec![started_on(recorded, "9")], gate()[1..].to_vec()].concat();
        let session = world.scribe.session(stored, log).await;
        assert_eq!(world.approve(&session, true).await, Fine, "{stored}, {recorded}");
    }
    assert!(world.harness.runs().is_empty() && world.tools.calls().is_empty());
}
