//! One execution of a log, as far as the projection follows it.

use sha2::{Digest, Sha256};
use wire::event::Body;
use wire::{Event, EventKind, HarnessEnd, Mediation, ToolCall, ToolResult};

use super::gate::{Gate, Malformed};
use crate::Seq;

/// The records of one execution, checked by the rules for approval evidence (execution.md §9.7).
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Execution {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(bool, tag = "2")]
    pub(super) ended: bool,
    #[prost(bool, tag = "3")]
    pub(super) has_approvals: bool,
    /// A record broke a rule. It matters only once the execution bears approvals.
    #[prost(bool, tag = "4")]
    malformed: bool,
    /// A record exists: a START can no longer come.
    #[prost(bool, tag = "5")]
    begun: bool,
    /// INPUTs that START announces and that have not come; none without START.
    #[prost(uint64, optional, tag = "6")]
    awaited_inputs: Option<u64>,
    /// The last gated call.
    #[prost(message, optional, tag = "7")]
    gate: Option<Gate>,
    /// [`call_hash`] of every gated call.
    #[prost(fixed64, repeated, tag = "8")]
    gated_calls: Vec<u64>,
    /// Its END says that it was canceled.
    #[prost(bool, tag = "9")]
    pub(super) canceled: bool,
}

impl Execution {
    /// An execution without records.
    pub(super) fn begin(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Moves over the next record of the execution.
    pub(super) fn apply(&mut self, seq: Seq, event: &Event) {
        self.has_approvals |= bears_approval(event);
        self.malformed |= self.check(seq, event).is_err();
        self.ended |= event.kind() == EventKind::EventEnd;
        if let Some(Body::End(end)) = &event.body {
            self.canceled = end.state == HarnessEnd::CANCELED;
        }
        self.begun = true;
    }

    /// Whether the records so far, read as a whole, follow the rules.
    pub(super) fn is_sound(&self) -> bool {
        !self.malformed && !self.id.is_empty() && self.awaited_inputs.unwrap_or(0) == 0
    }

    /// The last gated call while its request waits for a decision.
    pub(super) fn open_gate(&self) -> Option<&Gate> {
        self.gate.as_ref().filter(|gate| gate.awaits_decision() && !self.ended && self.is_sound())
    }

    fn check(&mut self, seq: Seq, event: &Event) -> Result<(), Malformed> {
        match event.kind() {
            EventKind::EventError => Ok(()),
            EventKind::EventExecutionStart => self.start(event),
            EventKind::EventInput => self.input(event),
            EventKind::EventToolCall => self.call(seq, call(event)),
            EventKind::EventApprovalRequest => self.unsettled().ok_or(Malformed)?.request(seq, event),
            EventKind::EventApprovalResult => self.unsettled().ok_or(Malformed)?.decide(seq, event),
            EventKind::EventToolResult => self.result(result(event)),
            _ => self.settled(),
        }
    }

    fn start(&mut self, event: &Event) -> Result<(), Malformed> {
        let Some(Body::ExecutionStart(start)) = &event.body else { return Err(Malformed) };
        if self.begun {
            return Err(Malformed);
        }
        let announced = start.input_count.ok_or(Malformed)?;
        self.awaited_inputs = Some(u64::try_from(announced).map_err(|_| Malformed)?);
        Ok(())
    }

    fn input(&mut self, event: &Event) -> Result<(), Malformed> {
        self.settled()?;
        let Some(Body::Message(_)) = &event.body else { return Err(Malformed) };
        if let Some(awaited) = &mut self.awaited_inputs {
            *awaited = awaited.checked_sub(1).ok_or(Malformed)?;
        }
        Ok(())
    }

    fn call(&mut self, seq: Seq, call: Option<&ToolCall>) -> Result<(), Malformed> {
        self.settled()?;
        let call = call.ok_or(Malformed)?;
        let hash = call_hash(&call.id);
        if self.gated_calls.contains(&hash) {
            return Err(Malformed);
        }
        if !is_gated(call) {
            return Ok(());
        }
        if self.ended || call.id.is_empty() || call.idempotency_key.is_empty() {
            return Err(Malformed);
        }
        self.gated_calls.push(hash);
        self.gate = Some(Gate::open(seq, &call.id));
        Ok(())
    }

    fn result(&mut self, result: Option<&ToolResult>) -> Result<(), Malformed> {
        if let Some(gate) = self.unsettled() {
            return gate.settle(result.ok_or(Malformed)?);
        }
        let of_gated_call = |result: &ToolResult| self.gated_calls.contains(&call_hash(&result.id));
        match result {
            Some(result) if is_receipt(result) || of_gated_call(result) => Err(Malformed),
            _ => Ok(()),
        }
    }

    fn settled(&mut self) -> Result<(), Malformed> {
        self.unsettled().map_or(Ok(()), |_| Err(Malformed))
    }

    /// The gated call that has no receipt.
    fn unsettled(&mut self) -> Option<&mut Gate> {
        self.gate.as_mut().filter(|gate| !gate.settled)
    }
}

fn bears_approval(event: &Event) -> bool {
    match event.kind() {
        EventKind::EventApprovalRequest | EventKind::EventApprovalResult => true,
        EventKind::EventToolCall => call(event).is_some_and(is_gated),
        EventKind::EventToolResult => result(event).is_some_and(is_receipt),
        _ => false,
    }
}

pub(super) fn is_gated(call: &ToolCall) -> bool {
    call.mediation() == Mediation::RequiresApproval
}

fn is_receipt(result: &ToolResult) -> bool {
    result.approval_request_seq != 0 || result.approval_decision_seq != 0
}

fn call(event: &Event) -> Option<&ToolCall> {
    match &event.body {
        Some(Body::Tool(call)) => Some(call),
        _ => None,
    }
}

fn result(event: &Event) -> Option<&ToolResult> {
    match &event.body {
        Some(Body::Result(result)) => Some(result),
        _ => None,
    }
}

/// Stands for a call id of any length in eight bytes.
fn call_hash(id: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(id).into();
    digest.iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}
