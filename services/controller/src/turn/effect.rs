//! Recorded effects.

use std::collections::VecDeque;

use journal::Seq;
use wire::event::Body;
use wire::{ApprovalResult, Event, EventKind, Message, ToolCall, ToolResult, Usage};

/// A recorded effect of a turn (execution.md §7.1).
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// MODEL_CALL; only its hash matters.
    ModelCall {
        /// Hash of the request.
        input_hash: String,
    },
    /// OUTPUT, of a model or of the harness.
    Output(Message),
    /// TOOL_CALL.
    ToolCall(ToolCall),
    /// TOOL_RESULT.
    ToolResult(ToolResult),
    /// USAGE.
    Usage(Usage),
    /// APPROVAL_REQUEST.
    ApprovalRequest {
        /// Its position, by which it is named.
        seq: Seq,
    },
    /// APPROVAL_RESULT.
    ApprovalResult {
        /// Its position, by which it is named.
        seq: Seq,
        /// The decision.
        decision: ApprovalResult,
    },
}

impl Effect {
    /// The effect in a record; `None` for other records.
    ///
    /// # Errors
    /// The rule broken by an effect that lacks its payload.
    pub fn read(seq: Seq, event: &Event) -> Result<Option<Self>, &'static str> {
        Ok(Some(match (event.kind(), &event.body) {
            (EventKind::EventModelCall, Some(Body::Model(call))) => {
                Self::ModelCall { input_hash: call.input_hash.clone() }
            }
            (EventKind::EventOutput, Some(Body::Message(message))) => Self::Output(message.clone()),
            (EventKind::EventToolCall, Some(Body::Tool(call))) => Self::ToolCall(call.clone()),
            (EventKind::EventToolResult, Some(Body::Result(result))) => Self::ToolResult(result.clone()),
            (EventKind::EventUsage, Some(Body::Usage(usage))) => Self::Usage(usage.clone()),
            (EventKind::EventApprovalRequest, Some(Body::Approval(_))) => Self::ApprovalRequest { seq },
            (EventKind::EventApprovalResult, Some(Body::ApprovalResult(decision))) => {
                Self::ApprovalResult { seq, decision: decision.clone() }
            }
            (
                EventKind::EventModelCall
                | EventKind::EventOutput
                | EventKind::EventToolCall
                | EventKind::EventToolResult
                | EventKind::EventUsage
                | EventKind::EventApprovalRequest
                | EventKind::EventApprovalResult,
                _,
            ) => return Err("an effect has no payload"),
            _ => return Ok(None),
        }))
    }
}

/// The recorded effects of a turn, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub(super) effects: VecDeque<Effect>,
    /// Whether the turn is from before executions had ids.
    pub(super) legacy: bool,
}

impl Recording {
    /// An empty recording.
    #[must_use]
    pub fn new(legacy: bool) -> Self {
        Self { effects: VecDeque::new(), legacy }
    }

    /// Adds the next effect. USAGE of a legacy turn is left out: it is not matched.
    pub fn push(&mut self, effect: Effect) {
        if !(self.legacy && matches!(effect, Effect::Usage(_))) {
            self.effects.push_back(effect);
        }
    }
}
