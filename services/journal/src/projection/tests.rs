pub(crate) mod events;

use proptest::prelude::*;
use prost::Message;

use super::*;
use events::*;

fn project(events: &[Event]) -> Projection {
    let mut projection = Projection::default();
    let mut seq = Seq::ZERO;
    for event in events {
        seq = seq.next();
        projection.apply(seq, event);
    }
    projection
}

fn pending(events: &[Event]) -> Option<(String, u64)> {
    project(events).pending_approval().map(|pending| (pending.tool_call_id, pending.request.get()))
}

/// A turn that waits at its gate `c1`; the request is record 3.
fn waiting() -> Vec<Event> {
    vec![start("e1", 0), gated("e1", "c1"), request("e1", "c1")]
}

/// `waiting`, then more.
fn waiting_then(more: &[Event]) -> Vec<Event> {
    [&waiting()[..], more].concat()
}

#[test]
fn compute_state_is_the_last_recorded_transition() {
    use ComputeState::{ComputeCold, ComputeLive, ComputeNone};
    let after = |events: &[Event]| project(events).compute_state();
    assert_eq!(after(&[]), ComputeNone);
    assert_eq!(after(&[lifecycle(Kind::LifecycleBaseline)]), ComputeNone);
    assert_eq!(after(&[start("e1", 0)]), ComputeLive);
    assert_eq!(after(&[lifecycle(Kind::LifecycleFork)]), ComputeCold);
    let suspended = [start("e1", 0), lifecycle(Kind::LifecycleSuspend)];
    assert_eq!(after(&suspended), ComputeCold);
    for unmoved in [
        request("e1", "c1"),
        decision("e1", "c1", 3, true),
        lifecycle(Kind::LifecycleCancel),
        lifecycle(Kind::LifecycleUnspecified),
        Event::new(EventKind::EventLifecycle, None),
    ] {
        assert_eq!(after(&[&suspended[..], &[unmoved]].concat()), ComputeCold);
    }
    assert_eq!(after(&[&suspended[..], &[lifecycle(Kind::LifecycleResume)]].concat()), ComputeLive);
    assert_eq!(after(&[&suspended[..], &[error("e1")]].concat()), ComputeLive);
}

#[test]
fn an_open_gate_is_pending_until_it_is_decided() {
    assert_eq!(pending(&waiting()[..2]), None, "the request is missing");
    assert_eq!(pending(&waiting()), Some(("c1".to_owned(), 3)));
    assert_eq!(pending(&waiting_then(&[lifecycle(Kind::LifecycleSuspend)])), Some(("c1".to_owned(), 3)));
    assert_eq!(pending(&waiting_then(&[error("e1")])), Some(("c1".to_owned(), 3)));
    assert_eq!(pending(&waiting_then(&[decision("e1", "c1", 3, true)])), None);
}

#[test]
fn the_next_gate_of_a_turn_is_pending_after_the_receipt_of_the_first() {
    let more = [
        decision("e1", "c1", 3, false),
        receipt("e1", "c1", 3, 4, true, Code::ApprovalDenied),
        gated("e1", "c2"),
        request("e1", "c2"),
    ];
    assert_eq!(pending(&waiting_then(&more)), Some(("c2".to_owned(), 7)));
}

#[test]
fn an_inherited_gate_is_not_pending() {
    let child = waiting_then(&[lifecycle(Kind::LifecycleFork)]);
    assert_eq!(pending(&child), None);
    assert_eq!(project(&child).latest_fork(), Seq::stored(4));
    assert!(project(&child).has_approvals());
    let own = [start("e2", 0), gated("e2", "c1"), request("e2", "c1")];
    assert_eq!(pending(&[&child[..], &own].concat()), Some(("c1".to_owned(), 7)));
}

#[test]
fn a_newer_turn_supersedes_an_open_gate() {
    let newer = waiting_then(&[start("e2", 0)]);
    let projection = project(&newer);
    assert_eq!(projection.pending_approval(), None);
    assert_eq!(projection.latest_execution(), Some(ExecutionId::new("e2")));
    assert!(projection.has_approvals() && !projection.latest_execution_has_approvals());
}

#[test]
fn malformed_evidence_is_never_pending_and_spoils_later_gates() {
    for malformed in [
        output("e1"),
        request("e1", "c1"),
        decision("e1", "other", 3, true),
        decision("e1", "c1", 2, true),
        receipt("e1", "c1", 3, 4, false, Code::Unspecified),
        gated("e1", "c2"),
        start("e1", 0),
        Event::new(EventKind::EventApprovalResult, None).of_execution("e1"),
    ] {
        let spoiled = waiting_then(&[malformed]);
        assert_eq!(pending(&spoiled), None, "{:?}", spoiled.last());
        let later = [start("e2", 0), gated("e2", "c9"), request("e2", "c9")];
        assert_eq!(pending(&[&spoiled[..], &later].concat()), None);
    }
}

#[test]
fn evidence_of_executions_without_approvals_is_not_looked_at() {
    let odd = [start("e1", 7), start("e1", 7), output("e1")];
    assert_eq!(
        pending(&[&odd[..], &[start("e2", 0), gated("e2", "c"), request("e2", "c")]].concat()),
        Some(("c".to_owned(), 6))
    );
}

#[test]
fn a_gate_before_all_inputs_are_recorded_is_not_pending() {
    let cut = [start("e1", 2), input("e1"), gated("e1", "c1"), request("e1", "c1")];
    assert_eq!(pending(&cut), None);
    let whole = [start("e1", 1), input("e1"), gated("e1", "c1"), request("e1", "c1")];
    assert_eq!(pending(&whole), Some(("c1".to_owned(), 4)));
}

#[test]
fn records_without_execution_id_are_one_execution_and_bear_no_valid_gate() {
    let legacy = [gated("", "c1"), request("", "c1")];
    let projection = project(&legacy);
    assert_eq!(projection.pending_approval(), None);
    assert!(projection.latest_execution().is_some_and(|id| id.is_legacy()));
}

#[test]
fn a_projection_of_an_ordinary_turn_takes_a_few_dozen_bytes() {
    let turn = [start("0123456789abcdef", 1), input("0123456789abcdef"), output("0123456789abcdef")];
    assert!(project(&turn).encoded_len() <= 32, "{}", project(&turn).encoded_len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_projection_equals_what_the_whole_log_amounts_to(log in log()) {
        let projection = project(&log);
        let expected = oracle::read(&log);
        prop_assert_eq!(projection.compute_state(), expected.compute_state);
        prop_assert_eq!(projection.latest_fork().get(), expected.latest_fork);
        prop_assert_eq!(projection.latest_execution().map(|id| id.to_string()), expected.latest_execution);
        prop_assert_eq!(projection.latest_execution_ended(), expected.ended);
        prop_assert_eq!(projection.latest_execution_canceled(), expected.canceled);
        prop_assert_eq!(projection.has_approvals(), expected.has_approvals);
        let pending = projection.pending_approval();
        prop_assert_eq!(pending.map(|p| (p.execution.to_string(), p.tool_call_id, p.request.get())), expected.pending);
    }

    #[test]
    fn a_stored_projection_goes_on_as_the_one_in_memory(log in log()) {
        let mut stored = Projection::default();
        let mut seq = Seq::ZERO;
        for event in &log {
            seq = seq.next();
            stored.apply(seq, event);
            stored = Projection::decode(&stored.encode_to_vec()[..]).unwrap();
        }
        prop_assert_eq!(stored, project(&log));
    }
}

#[test]
fn generated_logs_reach_the_interesting_states() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let logs: Vec<_> = (0..2_000).map(|_| log().new_tree(&mut runner).unwrap().current()).collect();
    let waiting = logs.iter().filter(|log| pending(log).is_some()).count();
    let settled = logs.iter().filter(|log| oracle::read(log).receipts > 0).count();
    assert!(waiting > 50 && settled > 50, "{waiting} waiting, {settled} with receipts");
}
