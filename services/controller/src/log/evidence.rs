//! The approval evidence of one execution (execution.md §9.7).

use std::collections::HashMap;

use journal::{ExecutionId, Seq};
use wire::tool_result::Code;
use wire::{ApprovalRef, ApprovalResult, Event, EventKind, Mediation, ToolCall, ToolResult, event};

use super::LogError;

/// A gated call and what has been recorded about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its TOOL_CALL.
    pub call: Seq,
    /// The id of the call.
    pub tool_call_id: String,
    /// Its APPROVAL_REQUEST.
    pub request: Option<Seq>,
    /// Its APPROVAL_RESULT.
    pub decision: Option<Decision>,
    /// Its TOOL_RESULT.
    pub receipt: Option<Seq>,
}

/// A recorded decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The APPROVAL_RESULT.
    pub seq: Seq,
    /// What was decided.
    pub approved: bool,
}

impl Gate {
    /// The tuple that names it to clients and harnesses, once its request is recorded.
    #[must_use]
    pub fn reference(&self, execution: &ExecutionId) -> Option<ApprovalRef> {
        self.request.map(|request| ApprovalRef {
            execution_id: execution.as_str().into(),
            tool_call_id: self.tool_call_id.clone(),
            request_seq: request.to_wire(),
        })
    }

    fn is_open(&self) -> bool {
        self.receipt.is_none()
    }
}

/// A broken rule.
enum Broken {
    Invalid(&'static str),
    Diverged(&'static str),
}
use Broken::{Diverged, Invalid};

/// The approval state of one execution. The rules are checked on every execution and count only for those that turn
/// out to bear approvals.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    bearing: Option<Seq>,
    problem: Option<LogError>,
    /// Ids of all calls, and whether a gated call used them.
    calls: HashMap<String, bool>,
    gates: Vec<Gate>,
}

impl Evidence {
    /// Takes the next record of the execution; `ended`: an END precedes it.
    pub(super) fn push(&mut self, seq: Seq, event: &Event, ended: bool) {
        if self.bearing.is_none() && bears_approval(event) {
            self.bearing = Some(seq);
        }
        let outcome = match event.kind() {
            // Its place and payload are checked with the inputs.
            EventKind::EventExecutionStart | EventKind::EventError => Ok(()),
            EventKind::EventToolCall => self.call(seq, event, ended),
            EventKind::EventApprovalRequest => self.request(seq, event),
            EventKind::EventApprovalResult => self.decision(seq, event),
            EventKind::EventToolResult => self.result(seq, event),
            _ if self.open().is_some() => Err(Invalid("a gated call is open here")),
            _ => Ok(()),
        };
        if let Err(broken) = outcome {
            self.problem.get_or_insert(match broken {
                Invalid(rule) => LogError::Invalid { seq, rule },
                Diverged(rule) => LogError::Diverged { seq, rule },
            });
        }
    }

    /// The first record that has to do with approvals.
    pub(super) fn bearing(&self) -> Option<Seq> {
        self.bearing
    }

    pub(super) fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The first broken rule.
    pub(super) fn problem(&self) -> Option<&LogError> {
        self.problem.as_ref()
    }

    fn open(&mut self) -> Option<&mut Gate> {
        self.gates.last_mut().filter(|gate| gate.is_open())
    }

    fn call(&mut self, seq: Seq, event: &Event, ended: bool) -> Result<(), Broken> {
        if self.open().is_some() {
            return Err(Invalid("a gated call is open where another call is made"));
        }
        let call = tool_call(event).ok_or(Invalid("TOOL_CALL has no payload"))?;
        let gated = call.mediation() == Mediation::RequiresApproval;
        let used = self.calls.insert(call.id.clone(), gated);
        if !gated {
            return match used {
                Some(true) => Err(Invalid("a call has the id of a gated call")),
                _ => Ok(()),
            };
        }
        self.gates.push(Gate {
            call: seq,
            tool_call_id: call.id.clone(),
            request: None,
            decision: None,
            receipt: None,
        });
        if used.is_some() {
            Err(Invalid("a gated call has the id of another call"))
        } else if ended {
            Err(Invalid("a gated call follows the END of its turn"))
        } else if call.id.is_empty() || call.idempotency_key.is_empty() {
            Err(Invalid("a gated call has no id or no idempotency_key"))
        } else {
            Ok(())
        }
    }

    fn request(&mut self, seq: Seq, event: &Event) -> Result<(), Broken> {
        let Some(event::Body::Approval(request)) = &event.body else {
            return Err(Invalid("APPROVAL_REQUEST has no payload"));
        };
        let gate = self.open().ok_or(Invalid("APPROVAL_REQUEST without an open gated call"))?;
        if gate.request.is_some() {
            return Err(Invalid("a gated call has a second APPROVAL_REQUEST"));
        }
        if gate.tool_call_id != request.tool_call_id {
            return Err(Diverged("APPROVAL_REQUEST names another call"));
        }
        gate.request = Some(seq);
        Ok(())
    }

    fn decision(&mut self, seq: Seq, event: &Event) -> Result<(), Broken> {
        let Some(event::Body::ApprovalResult(decision)) = &event.body else {
            return Err(Invalid("APPROVAL_RESULT has no payload"));
        };
        let gate = self.open().ok_or(Invalid("APPROVAL_RESULT without an open gated call"))?;
        let request = gate.request.ok_or(Invalid("APPROVAL_RESULT without an APPROVAL_REQUEST"))?;
        if gate.decision.is_some() {
            return Err(Invalid("a gated call has a second APPROVAL_RESULT"));
        }
        if !decides(decision, &gate.tool_call_id, request) {
            return Err(Diverged("APPROVAL_RESULT names another call or request"));
        }
        gate.decision = Some(Decision { seq, approved: decision.approved });
        Ok(())
    }

    fn result(&mut self, seq: Seq, event: &Event) -> Result<(), Broken> {
        let result = match &event.body {
            Some(event::Body::Result(result)) => Some(result),
            _ => None,
        };
        let Some(gate) = self.open() else {
            return match result {
                Some(result) if has_approval(result) => Err(Invalid("a receipt without an open gated call")),
                Some(result) if self.calls.get(&result.id) == Some(&true) => {
                    Err(Invalid("a gated call has a second TOOL_RESULT"))
                }
                _ => Ok(()),
            };
        };
        let result = result.ok_or(Invalid("TOOL_RESULT of a gated call has no payload"))?;
        let (Some(request), Some(decision)) = (gate.request, gate.decision) else {
            return Err(Invalid("TOOL_RESULT of a gated call without a decision"));
        };
        if !is_receipt(result, &gate.tool_call_id, request, decision) {
            return Err(Diverged("TOOL_RESULT does not fit the gated call and its decision"));
        }
        gate.receipt = Some(seq);
        Ok(())
    }
}

fn bears_approval(event: &Event) -> bool {
    match event.kind() {
        EventKind::EventApprovalRequest | EventKind::EventApprovalResult => true,
        EventKind::EventToolCall => {
            tool_call(event).is_some_and(|call| call.mediation() == Mediation::RequiresApproval)
        }
        EventKind::EventToolResult => {
            matches!(&event.body, Some(event::Body::Result(result)) if has_approval(result))
        }
        _ => false,
    }
}

fn tool_call(event: &Event) -> Option<&ToolCall> {
    match &event.body {
        Some(event::Body::Tool(call)) => Some(call),
        _ => None,
    }
}

fn has_approval(result: &ToolResult) -> bool {
    result.approval_request_seq != 0 || result.approval_decision_seq != 0
}

fn decides(decision: &ApprovalResult, tool_call_id: &str, request: Seq) -> bool {
    decision.tool_call_id == tool_call_id && decision.request_seq == request.to_wire()
}

fn is_receipt(result: &ToolResult, tool_call_id: &str, request: Seq, decision: Decision) -> bool {
    let status_fits = match (decision.approved, result.is_error, result.code()) {
        (false, true, Code::ApprovalDenied) => true,
        (true, false, Code::Unspecified) => result.code == 0,
        (true, true, Code::ExecutorError) => true,
        _ => false,
    };
    status_fits
        && result.id == tool_call_id
        && result.approval_request_seq == request.to_wire()
        && result.approval_decision_seq == decision.seq.to_wire()
}

#[cfg(test)]
mod tests;
