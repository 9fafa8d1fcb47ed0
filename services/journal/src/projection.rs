//! What a session's log amounts to, kept with every append (journal.md §5): pure and of bounded size.
//!
//! A projection does not remember every execution id and every call id of the log. It relies on what hosts do anyway:
//! they append only to the latest execution (the fence sees to it), so an id that differs from the latest one's is new;
//! and they refuse, before recording it, a gated call under the id of an ordinary one of the same turn (execution.md
//! §9.1).

mod execution;
mod gate;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;

use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{ComputeState, Event, EventKind};

use crate::{Corrupt, ExecutionId, Seq, rows};
use execution::{Execution, is_gated};

/// Longest execution id, and id of a gated call, in bytes: the projection, a part of every batch while a gate is open,
/// must stay far below the size of a value.
pub(crate) const MAX_ID_BYTES: usize = 16_384;

/// The state of a session after some record of its log.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Projection {
    /// A [`ComputeState`].
    #[prost(int32, tag = "1")]
    compute_state: i32,
    #[prost(uint64, tag = "2")]
    fork_seq: u64,
    /// The latest first-seen one.
    #[prost(message, optional, tag = "3")]
    execution: Option<Execution>,
    /// An execution before the latest one bears approvals.
    #[prost(bool, tag = "4")]
    earlier_approvals: bool,
    /// An execution before the latest one bears approvals with malformed evidence.
    #[prost(bool, tag = "5")]
    earlier_malformed: bool,
}

/// A gated call that waits for its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    /// The turn that waits.
    pub execution: ExecutionId,
    /// The call.
    pub tool_call_id: String,
    /// The APPROVAL_REQUEST record.
    pub request: Seq,
}

impl Projection {
    /// The encoding that the journal's rows hold.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        prost::Message::encode_to_vec(self)
    }

    /// Reads [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Corrupt`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Corrupt> {
        rows::decode("projection", bytes)
    }

    /// The last recorded transition; not a probe.
    #[must_use]
    pub fn compute_state(&self) -> ComputeState {
        match ComputeState::try_from(self.compute_state) {
            Ok(ComputeState::Unspecified) | Err(_) => ComputeState::ComputeNone,
            Ok(state) => state,
        }
    }

    /// The latest FORK marker; what lies before it is inherited. [`Seq::ZERO`] if there is none.
    #[must_use]
    pub fn latest_fork(&self) -> Seq {
        Seq::stored(self.fork_seq)
    }

    /// The execution whose first record came last; one without id stands for all records from before ids existed.
    #[must_use]
    pub fn latest_execution(&self) -> Option<ExecutionId> {
        self.execution.as_ref().map(|execution| ExecutionId::new(&execution.id))
    }

    /// Whether the latest execution has an END.
    #[must_use]
    pub fn latest_execution_ended(&self) -> bool {
        self.execution.as_ref().is_some_and(|execution| execution.ended)
    }

    /// Whether the latest execution was canceled.
    #[must_use]
    pub fn latest_execution_canceled(&self) -> bool {
        self.execution.as_ref().is_some_and(|execution| execution.canceled)
    }

    /// Whether the latest execution bears approvals: a gated call, a request, a decision or a receipt.
    #[must_use]
    pub fn latest_execution_has_approvals(&self) -> bool {
        self.execution.as_ref().is_some_and(|execution| execution.has_approvals)
    }

    /// Whether any execution of the log bears approvals; if none does, there is no evidence to scan.
    #[must_use]
    pub fn has_approvals(&self) -> bool {
        self.earlier_approvals || self.latest_execution_has_approvals()
    }

    /// The gate that the session waits at, if its evidence is sound and the session owns it.
    #[must_use]
    pub fn pending_approval(&self) -> Option<PendingApproval> {
        let execution = self.execution.as_ref().filter(|_| !self.earlier_malformed)?;
        let gate = execution.open_gate().filter(|gate| gate.call_seq > self.fork_seq)?;
        Some(PendingApproval {
            execution: ExecutionId::new(&execution.id),
            tool_call_id: gate.call_id.clone(),
            request: Seq::stored(gate.request_seq),
        })
    }

    /// The size of an id in `event` that a projection cannot keep.
    pub(crate) fn oversized_id(event: &Event) -> Option<usize> {
        let call_id = match &event.body {
            Some(Body::Tool(call)) if is_gated(call) => call.id.len(),
            _ => 0,
        };
        Some(call_id.max(event.execution_id.len())).filter(|&size| size > MAX_ID_BYTES)
    }

    /// Moves over the next record of the log.
    pub(crate) fn apply(&mut self, seq: Seq, event: &Event) {
        self.move_compute(event);
        match event.kind() {
            EventKind::EventLifecycle => self.note_fork(seq, event),
            _ => self.latest_for(event).apply(seq, event),
        }
    }

    fn move_compute(&mut self, event: &Event) {
        let state = match (event.kind(), &event.body) {
            (EventKind::EventLifecycle, Some(Body::Lifecycle(lifecycle))) => match lifecycle.kind() {
                Kind::LifecycleSuspend | Kind::LifecycleFork => ComputeState::ComputeCold,
                Kind::LifecycleResume => ComputeState::ComputeLive,
                Kind::LifecycleBaseline | Kind::LifecycleCancel | Kind::LifecycleUnspecified => return,
            },
            (EventKind::EventLifecycle | EventKind::EventApprovalRequest | EventKind::EventApprovalResult, _) => return,
            _ => ComputeState::ComputeLive,
        };
        self.compute_state = state.into();
    }

    fn note_fork(&mut self, seq: Seq, event: &Event) {
        if let Some(Body::Lifecycle(lifecycle)) = &event.body
            && lifecycle.kind() == Kind::LifecycleFork
        {
            self.fork_seq = seq.get();
        }
    }

    /// The execution that `event` belongs to, which becomes the latest if it was not.
    fn latest_for(&mut self, event: &Event) -> &mut Execution {
        if let Some(superseded) = self.execution.take_if(|latest| latest.id != event.execution_id) {
            self.earlier_approvals |= superseded.has_approvals;
            self.earlier_malformed |= superseded.has_approvals && !superseded.is_sound();
        }
        self.execution.get_or_insert_with(|| Execution::begin(&event.execution_id))
    }
}

#[cfg(test)]
pub(crate) mod tests;
