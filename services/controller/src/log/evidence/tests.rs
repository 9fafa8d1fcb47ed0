//! Every rule of execution.md §9.7.

use wire::{Event, EventKind, ExecutionStart, ToolCall, ToolResult};

use super::*;
use crate::log::Log;
use crate::testing::events::{denial, fork, gated, mediated, receipt, result, seq};

const E1: crate::testing::events::Of<'static> = crate::testing::events::Of("e1");

/// START at 1, gated call at 2, request at 3, decision at 4, receipt at 5.
fn gate(approved: bool) -> Vec<Event> {
    let receipt = if approved { receipt("g", 3, 4) } else { denial("g", 3, 4) };
    vec![E1.start(0), E1.tool_call(gated("g")), E1.request("g"), E1.decision("g", 3, approved), E1.tool_result(receipt)]
}

/// The first `len` records of a gate, and then these.
fn after(len: usize, records: impl IntoIterator<Item = Event>) -> Vec<Event> {
    gate(true).into_iter().take(len).chain(records).collect()
}

fn check(records: &[Event]) -> Result<(), LogError> {
    Log::of(records).check_approvals()
}

fn invalid(at: u64, rule: &'static str) -> Result<(), LogError> {
    Err(LogError::Invalid { seq: seq(at), rule })
}

fn diverged(at: u64, rule: &'static str) -> Result<(), LogError> {
    Err(LogError::Diverged { seq: seq(at), rule })
}

#[test]
fn a_gate_is_valid_at_every_cut() {
    for approved in [true, false] {
        for len in 0..=5 {
            assert_eq!(check(&gate(approved)[..len]), Ok(()), "cut at {len}");
        }
    }
}

#[test]
fn errors_markers_and_other_turns_may_lie_anywhere() {
    for at in 1..=5 {
        for between in [E1.error(), fork(), crate::testing::events::Of("e2").output("x")] {
            let mut records = vec![E1.start(0), E1.tool_call(gated("g"))];
            records.insert(at.min(records.len()), between);
            assert_eq!(check(&records), Ok(()));
        }
    }
}

#[test]
fn nothing_else_may_happen_while_a_gate_is_open() {
    let open = "a gated call is open here";
    let others = [
        E1.input("x"),
        E1.model_call("h"),
        E1.output("x"),
        E1.usage(1),
        E1.end(),
        E1.event(EventKind::Unspecified, None),
        E1.event(EventKind::EventParked, None),
    ];
    for other in others {
        for len in 2..=4 {
            let records = after(len, [other.clone()]);
            assert_eq!(check(&records), invalid(len as u64 + 1, open), "{other:?}");
        }
    }
    let another = "a gated call is open where another call is made";
    for call in [mediated("t"), gated("h")] {
        assert_eq!(check(&after(3, [E1.tool_call(call)])), invalid(4, another));
    }
}

#[test]
fn calls_keep_to_their_ids() {
    let keyless = ToolCall { idempotency_key: String::new(), ..gated("h") };
    let table = [
        (after(5, [E1.tool_call(gated("g"))]), invalid(6, "a gated call has the id of another call")),
        (after(5, [E1.tool_call(mediated("g"))]), invalid(6, "a call has the id of a gated call")),
        (after(5, [E1.tool_call(keyless)]), invalid(6, "a gated call has no id or no idempotency_key")),
        (after(5, [E1.tool_call(gated(""))]), invalid(6, "a gated call has no id or no idempotency_key")),
        (after(5, [E1.event(EventKind::EventToolCall, None)]), invalid(6, "TOOL_CALL has no payload")),
        (after(5, [E1.end(), E1.tool_call(gated("h"))]), invalid(7, "a gated call follows the END of its turn")),
        (after(5, [E1.tool_call(mediated("t")), E1.tool_call(mediated("t"))]), Ok(())),
        (
            vec![E1.start(0), E1.tool_call(mediated("t")), E1.tool_call(gated("t"))],
            invalid(3, "a gated call has the id of another call"),
        ),
    ];
    for (records, expected) in table {
        assert_eq!(check(&records), expected, "{records:?}");
    }
}

#[test]
fn requests_fit_their_call() {
    let table = [
        (after(1, [E1.request("g")]), invalid(2, "APPROVAL_REQUEST without an open gated call")),
        (after(5, [E1.request("g")]), invalid(6, "APPROVAL_REQUEST without an open gated call")),
        (after(3, [E1.request("g")]), invalid(4, "a gated call has a second APPROVAL_REQUEST")),
        (after(2, [E1.request("h")]), diverged(3, "APPROVAL_REQUEST names another call")),
        (after(2, [E1.event(EventKind::EventApprovalRequest, None)]), invalid(3, "APPROVAL_REQUEST has no payload")),
    ];
    for (records, expected) in table {
        assert_eq!(check(&records), expected, "{records:?}");
    }
}

#[test]
fn decisions_fit_their_request() {
    let other = "APPROVAL_RESULT names another call or request";
    let table = [
        (after(1, [E1.decision("g", 3, true)]), invalid(2, "APPROVAL_RESULT without an open gated call")),
        (after(2, [E1.decision("g", 3, true)]), invalid(3, "APPROVAL_RESULT without an APPROVAL_REQUEST")),
        (after(4, [E1.decision("g", 3, true)]), invalid(5, "a gated call has a second APPROVAL_RESULT")),
        (after(3, [E1.decision("h", 3, true)]), diverged(4, other)),
        (after(3, [E1.decision("g", 2, true)]), diverged(4, other)),
        (after(3, [E1.event(EventKind::EventApprovalResult, None)]), invalid(4, "APPROVAL_RESULT has no payload")),
    ];
    for (records, expected) in table {
        assert_eq!(check(&records), expected, "{records:?}");
    }
}

#[test]
fn receipts_fit_their_decision() {
    let fits = "TOOL_RESULT does not fit the gated call and its decision";
    let executor_error = ToolResult { is_error: true, code: Code::ExecutorError.into(), ..receipt("g", 3, 4) };
    let table = [
        (executor_error.clone(), Ok(())),
        (receipt("h", 3, 4), diverged(5, fits)),
        (receipt("g", 2, 4), diverged(5, fits)),
        (receipt("g", 3, 3), diverged(5, fits)),
        (result("g"), diverged(5, fits)),
        (denial("g", 3, 4), diverged(5, fits)),
        (ToolResult { is_error: true, ..receipt("g", 3, 4) }, diverged(5, fits)),
        (ToolResult { is_error: false, ..executor_error }, diverged(5, fits)),
        (ToolResult { code: 9, ..receipt("g", 3, 4) }, diverged(5, fits)),
    ];
    for (receipt, expected) in table {
        assert_eq!(check(&after(4, [E1.tool_result(receipt.clone())])), expected, "{receipt:?}");
    }
    let denied = [&gate(false)[..4], &[E1.tool_result(receipt("g", 3, 4))]].concat();
    assert_eq!(check(&denied), diverged(5, fits));
}

#[test]
fn results_need_their_evidence() {
    let undecided = "TOOL_RESULT of a gated call without a decision";
    let receipt = || E1.tool_result(receipt("g", 3, 4));
    let table = [
        (after(2, [receipt()]), invalid(3, undecided)),
        (after(3, [receipt()]), invalid(4, undecided)),
        (
            after(4, [E1.event(EventKind::EventToolResult, None)]),
            invalid(5, "TOOL_RESULT of a gated call has no payload"),
        ),
        (after(5, [receipt()]), invalid(6, "a receipt without an open gated call")),
        (after(5, [E1.tool_result(result("g"))]), invalid(6, "a gated call has a second TOOL_RESULT")),
        (after(5, [E1.tool_result(result("t"))]), Ok(())),
        (after(1, [receipt()]), invalid(2, "a receipt without an open gated call")),
    ];
    for (records, expected) in table {
        assert_eq!(check(&records), expected, "{records:?}");
    }
}

#[test]
fn starts_and_inputs_of_approval_turns_are_checked() {
    let second = "EXECUTION_START is not the first record of its execution";
    let late = after(5, [E1.start(0)]);
    assert_eq!(check(&late), invalid(6, second));
    let countless = [&[E1.start_with(ExecutionStart::default())], &gate(true)[1..]].concat();
    assert_eq!(check(&countless), invalid(1, "EXECUTION_START has no input_count"));
    let starting_late = [&gate(true)[1..2], &[E1.start(0)]].concat();
    assert_eq!(check(&starting_late), invalid(2, second));
}

#[test]
fn the_first_broken_rule_wins() {
    let records = after(3, [E1.decision("h", 3, true), E1.start(0)]);
    assert!(check(&records).unwrap_err().is_divergence());
    let records = after(3, [E1.start(0), E1.decision("h", 3, true)]);
    assert!(!check(&records).unwrap_err().is_divergence());
}

#[test]
fn executions_are_checked_in_the_order_of_their_first_record() {
    let e2 = crate::testing::events::Of("e2");
    let records = [E1.start(0), e2.start(0), e2.request("x"), E1.request("y")];
    assert_eq!(check(&records), invalid(4, "APPROVAL_REQUEST without an open gated call"));
}

#[test]
fn ordinary_turns_are_not_looked_at() {
    let records = [E1.input("a"), E1.start(1), E1.event(EventKind::EventToolCall, None), E1.end(), E1.end()];
    assert_eq!(check(&records), Ok(()));
}

#[test]
fn approval_records_without_execution_id_are_invalid() {
    let old = crate::testing::events::Of("");
    let rule = "an approval record has no execution id";
    assert_eq!(check(&[old.input("a"), old.tool_call(gated("g"))]), invalid(2, rule));
    assert_eq!(check(&[old.input("a"), old.tool_result(receipt("g", 1, 2))]), invalid(2, rule));
}

#[test]
fn the_selected_gate_is_the_last_of_the_last_first_seen_turn() {
    let mut records = after(5, [E1.tool_call(gated("h")), E1.request("h")]);
    let gate = Log::of(&records).selected_gate().cloned().unwrap();
    let expected =
        Gate { call: seq(6), tool_call_id: "h".into(), request: Some(seq(7)), decision: None, receipt: None };
    assert_eq!(gate, expected);
    records.push(crate::testing::events::Of("e2").start(0));
    assert_eq!(Log::of(&records).selected_gate(), None);
}
