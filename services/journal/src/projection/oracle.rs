//! What a log amounts to, read from the specification: the whole log at once, without state. For tests, which compare it
//! with the projection.

use wire::event::Body;
use wire::lifecycle::Kind;
use wire::tool_result::Code;
use wire::{ComputeState, Event, EventKind, Mediation, ToolCall, ToolResult};

/// What a log says of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The last recorded transition.
    pub compute_state: ComputeState,
    /// Seq of the latest FORK marker; 0 if there is none.
    pub latest_fork: u64,
    /// Id of the latest first-seen execution.
    pub latest_execution: Option<String>,
    /// Whether that one has an END.
    pub ended: bool,
    /// Whether its END says that it was canceled.
    pub canceled: bool,
    /// Whether any execution bears approvals.
    pub has_approvals: bool,
    /// Execution, call and request of the gate that the session waits at.
    pub pending: Option<(String, String, u64)>,
    /// Results of gated calls.
    pub receipts: usize,
}

type Record<'a> = (u64, &'a Event);

/// Reads a whole log.
#[must_use]
pub fn read(log: &[Event]) -> Facts {
    let records: Vec<Record> = (1..).zip(log).collect();
    let latest_fork =
        records.iter().filter(|(_, event)| lifecycle(event) == Some(Kind::LifecycleFork)).map(|r| r.0).max();
    let latest_fork = latest_fork.unwrap_or(0);
    let groups = groups(&records);
    let latest = groups.last();
    let bearing: Vec<_> = groups.iter().filter(|group| bears_approvals(group)).collect();
    let all_sound = bearing.iter().all(|group| is_sound(group));
    Facts {
        compute_state: log.iter().rev().find_map(transition).unwrap_or(ComputeState::ComputeNone),
        latest_fork,
        latest_execution: latest.map(|group| group[0].1.execution_id.clone()),
        ended: latest.is_some_and(|group| has(group, EventKind::EventEnd)),
        canceled: latest.and_then(|group| group.iter().rev().find_map(|(_, event)| end(event))) == Some("CANCELED"),
        has_approvals: !bearing.is_empty(),
        pending: latest.filter(|_| all_sound).and_then(|group| pending(group, latest_fork)),
        receipts: groups
            .iter()
            .flatten()
            .filter(|(_, e)| result(e).is_some_and(|r| r.approval_decision_seq > 0))
            .count(),
    }
}

fn transition(event: &Event) -> Option<ComputeState> {
    match event.kind() {
        EventKind::EventApprovalRequest | EventKind::EventApprovalResult => None,
        EventKind::EventLifecycle => match lifecycle(event)? {
            Kind::LifecycleSuspend | Kind::LifecycleFork => Some(ComputeState::ComputeCold),
            Kind::LifecycleResume => Some(ComputeState::ComputeLive),
            _ => None,
        },
        _ => Some(ComputeState::ComputeLive),
    }
}

/// By execution id, in order of first appearance.
fn groups<'a>(records: &[Record<'a>]) -> Vec<Vec<Record<'a>>> {
    let mut groups: Vec<Vec<Record>> = Vec::new();
    for record in records.iter().filter(|(_, event)| event.kind() != EventKind::EventLifecycle) {
        match groups.iter_mut().find(|group| group[0].1.execution_id == record.1.execution_id) {
            Some(group) => group.push(*record),
            None => groups.push(vec![*record]),
        }
    }
    groups
}

fn pending(group: &[Record], latest_fork: u64) -> Option<(String, String, u64)> {
    let at = group.iter().rposition(|(_, event)| gated(event).is_some())?;
    let (call_seq, event) = group[at];
    let after = &group[at..];
    let request = after.iter().find(|(_, event)| event.kind() == EventKind::EventApprovalRequest)?;
    let decided = has(after, EventKind::EventApprovalResult) || has(after, EventKind::EventToolResult);
    let ended = has(group, EventKind::EventEnd);
    let open = !decided && !ended && call_seq > latest_fork;
    open.then(|| (event.execution_id.clone(), gated(event).map(|call| call.id.clone()).unwrap_or_default(), request.0))
}

fn bears_approvals(group: &[Record]) -> bool {
    group.iter().any(|(_, event)| match event.kind() {
        EventKind::EventApprovalRequest | EventKind::EventApprovalResult => true,
        EventKind::EventToolCall => gated(event).is_some(),
        EventKind::EventToolResult => result(event).is_some_and(has_approval_seqs),
        _ => false,
    })
}

fn is_sound(group: &[Record]) -> bool {
    let each = (0..group.len()).all(|at| follows_rules(&group[..at], group[at]));
    each && !group[0].1.execution_id.is_empty() && inputs_are_complete(group)
}

fn inputs_are_complete(group: &[Record]) -> bool {
    let inputs: Vec<_> = group.iter().filter(|(_, event)| event.kind() == EventKind::EventInput).collect();
    let with_message = inputs.iter().all(|(_, event)| matches!(event.body, Some(Body::Message(_))));
    let counted = match &group[0].1.body {
        Some(Body::ExecutionStart(start)) if group[0].1.kind() == EventKind::EventExecutionStart => {
            start.input_count == Some(inputs.len() as i64)
        }
        _ => true,
    };
    with_message && counted
}

/// Whether `record` may follow the others of its execution, which follow the rules themselves.
fn follows_rules(before: &[Record], record: Record) -> bool {
    let event = record.1;
    let last_gated = before.iter().rposition(|(_, event)| gated(event).is_some());
    let open = last_gated.map(|at| &before[at..]).filter(|since| !has(since, EventKind::EventToolResult));
    let used = |id: &str, gated_only: bool| {
        let calls = before.iter().filter_map(|(_, event)| if gated_only { gated(event) } else { call(event) });
        calls.map(|call| &call.id).any(|used| used == id)
    };
    match event.kind() {
        EventKind::EventError => true,
        EventKind::EventExecutionStart => before.is_empty() && matches!(event.body, Some(Body::ExecutionStart(_))),
        EventKind::EventToolCall => match (open, call(event)) {
            (None, Some(call)) if gated(event).is_some() => {
                !has(before, EventKind::EventEnd)
                    && !call.id.is_empty()
                    && !call.idempotency_key.is_empty()
                    && !used(&call.id, false)
            }
            (None, Some(call)) => !used(&call.id, true),
            _ => false,
        },
        EventKind::EventApprovalRequest => match (open, &event.body) {
            (Some(gate), Some(Body::Approval(request))) => {
                !has(gate, EventKind::EventApprovalRequest) && request.tool_call_id == call_id(gate)
            }
            _ => false,
        },
        EventKind::EventApprovalResult => match (open, &event.body) {
            (Some(gate), Some(Body::ApprovalResult(decision))) => {
                !has(gate, EventKind::EventApprovalResult)
                    && decision.tool_call_id == call_id(gate)
                    && seq_of(gate, EventKind::EventApprovalRequest) == Some(decision.request_seq)
            }
            _ => false,
        },
        EventKind::EventToolResult => match (open, result(event)) {
            (Some(gate), Some(receipt)) => {
                receipt.id == call_id(gate)
                    && seq_of(gate, EventKind::EventApprovalRequest) == Some(receipt.approval_request_seq)
                    && seq_of(gate, EventKind::EventApprovalResult) == Some(receipt.approval_decision_seq)
                    && status_fits(gate, receipt)
            }
            (Some(_), None) => false,
            (None, Some(result)) => !used(&result.id, true) && !has_approval_seqs(result),
            (None, None) => true,
        },
        _ => open.is_none(),
    }
}

fn status_fits(gate: &[Record], receipt: &ToolResult) -> bool {
    let approved = gate.iter().any(|(_, event)| matches!(&event.body, Some(Body::ApprovalResult(d)) if d.approved));
    let status = (receipt.is_error, receipt.code);
    let of = |is_error, code: Code| (is_error, i32::from(code));
    match approved {
        false => status == of(true, Code::ApprovalDenied),
        true => status == of(false, Code::Unspecified) || status == of(true, Code::ExecutorError),
    }
}

fn call_id(gate: &[Record]) -> String {
    gated(gate[0].1).map(|call| call.id.clone()).unwrap_or_default()
}

fn seq_of(records: &[Record], kind: EventKind) -> Option<i64> {
    records.iter().find(|(_, event)| event.kind() == kind).map(|(seq, _)| *seq as i64)
}

fn has(records: &[Record], kind: EventKind) -> bool {
    records.iter().any(|(_, event)| event.kind() == kind)
}

fn has_approval_seqs(result: &ToolResult) -> bool {
    result.approval_request_seq != 0 || result.approval_decision_seq != 0
}

fn call(event: &Event) -> Option<&ToolCall> {
    match &event.body {
        Some(Body::Tool(call)) if event.kind() == EventKind::EventToolCall => Some(call),
        _ => None,
    }
}

fn gated(event: &Event) -> Option<&ToolCall> {
    call(event).filter(|call| call.mediation() == Mediation::RequiresApproval)
}

fn result(event: &Event) -> Option<&ToolResult> {
    match &event.body {
        Some(Body::Result(result)) => Some(result),
        _ => None,
    }
}

fn end(event: &Event) -> Option<&str> {
    match &event.body {
        Some(Body::End(end)) if event.kind() == EventKind::EventEnd => Some(&end.state),
        _ => None,
    }
}

fn lifecycle(event: &Event) -> Option<Kind> {
    match &event.body {
        Some(Body::Lifecycle(lifecycle)) if event.kind() == EventKind::EventLifecycle => Some(lifecycle.kind()),
        _ => None,
    }
}
