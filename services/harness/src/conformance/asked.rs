//! The frames with which a host answers an effect: the right ones, from which wrong ones are made.

use wire::controller_frame::Frame;
use wire::event::Body;
use wire::tool_result::Code;
use wire::{ApprovalRef, ApprovalResult, ControllerFrame, Event, Message, ModelResult, ToolResult};

use super::conversation::Turn;

/// An effect that waits for its answer.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) turn: Turn,
    /// The id of the model request or tool call.
    call_id: String,
    /// Where the host has recorded the request for approval.
    request_seq: i64,
    completion: Message,
}

impl Asked {
    /// `event` as an effect that waits; `said` events came before it.
    pub(super) fn new(turn: &Turn, event: &Event, said: usize, completion: Message) -> Self {
        let call_id = match &event.body {
            Some(Body::Model(call)) => call.id.clone(),
            Some(Body::Tool(call)) => call.id.clone(),
            _ => String::new(),
        };
        // Any positive number will do, if it is the same when the turn is held again.
        let request_seq = i64::try_from(said).unwrap_or_default().saturating_add(4);
        Self { turn: turn.clone(), call_id, request_seq, completion }
    }

    pub(super) fn frame(&self, frame: Frame) -> ControllerFrame {
        self.turn.frame(Some(frame))
    }

    pub(super) fn completed(&self) -> ModelResult {
        ModelResult { message: Some(self.completion.clone()), usage: None, model_call_id: self.call_id.clone() }
    }

    pub(super) fn result(&self) -> ToolResult {
        ToolResult { id: self.call_id.clone(), ..ToolResult::default() }
    }

    pub(super) fn park(&self) -> ApprovalRef {
        ApprovalRef {
            execution_id: self.turn.execution.clone(),
            tool_call_id: self.call_id.clone(),
            request_seq: self.request_seq,
        }
    }

    pub(super) fn decision(&self, approved: bool) -> ApprovalResult {
        let (tool_call_id, request_seq) = (self.call_id.clone(), self.request_seq);
        ApprovalResult { tool_call_id, approved, reason: "conformance".into(), request_seq }
    }

    /// The receipt of the executed or denied call.
    pub(super) fn receipt(&self, approved: bool) -> ToolResult {
        let code = if approved { Code::Unspecified } else { Code::ApprovalDenied };
        self.receipt_with(!approved, code)
    }

    pub(super) fn receipt_with(&self, is_error: bool, code: Code) -> ToolResult {
        let error = if is_error { "conformance" } else { "" };
        ToolResult {
            is_error,
            error: error.into(),
            code: code.into(),
            approval_request_seq: self.request_seq,
            approval_decision_seq: self.request_seq + 1,
            ..self.result()
        }
    }

    /// A decision with this receipt.
    pub(super) fn decided(&self, approved: bool, receipt: ToolResult) -> Vec<ControllerFrame> {
        vec![self.frame(Frame::Approval(self.decision(approved))), self.frame(Frame::Tool(receipt))]
    }
}
