//! What a host must not send, and a harness must not take: the turn fails (execution.md §6.2).

use wire::controller_frame::Frame;
use wire::tool_result::Code;
use wire::{ApprovalRef, ApprovalResult, Cancel, ControllerFrame, ModelResult, Start, ToolResult};

use super::asked::Asked;
use super::conversation::Host;
use super::effect::Effect;
use super::{Body, Check, Finding, Frames};

const OTHER: &str = "conformance-other";

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "model-other-execution",
        promise: "refuses the completion of another execution",
        body: Body::Refusal(Effect::Model, |asked| elsewhere(asked, Frame::Model(asked.completed()))),
    },
    Check {
        name: "model-other-call",
        promise: "refuses the completion of another model request",
        body: Body::Refusal(Effect::Model, |asked| {
            one(asked, Frame::Model(ModelResult { model_call_id: OTHER.into(), ..asked.completed() }))
        }),
    },
    Check {
        name: "tool-other-execution",
        promise: "refuses the tool result of another execution",
        body: Body::Refusal(Effect::Tool, |asked| elsewhere(asked, Frame::Tool(asked.result()))),
    },
    Check {
        name: "tool-other-session",
        promise: "refuses the tool result of another session",
        body: Body::Refusal(Effect::Tool, |asked| of_other_session(asked, Frame::Tool(asked.result()))),
    },
    Check {
        name: "tool-other-call",
        promise: "refuses the result of another tool call",
        body: Body::Refusal(Effect::Tool, |asked| one(asked, Frame::Tool(other_call(asked.result())))),
    },
    Check {
        name: "gate-tool-first",
        promise: "takes no result of a gated call before its decision",
        body: Body::Refusal(Effect::Gate, |asked| one(asked, Frame::Tool(asked.receipt(true)))),
    },
    Check {
        name: "approval-other-execution",
        promise: "refuses the decision of another execution",
        body: Body::Refusal(Effect::Gate, |asked| elsewhere(asked, Frame::Approval(asked.decision(true)))),
    },
    Check {
        name: "approval-other-session",
        promise: "refuses the decision of another session",
        body: Body::Refusal(Effect::Gate, |asked| of_other_session(asked, Frame::Approval(asked.decision(true)))),
    },
    Check {
        name: "approval-other-call",
        promise: "refuses the decision of another call",
        body: Body::Refusal(Effect::Gate, |asked| {
            one(asked, Frame::Approval(ApprovalResult { tool_call_id: OTHER.into(), ..asked.decision(true) }))
        }),
    },
    Check {
        name: "approval-without-request",
        promise: "refuses a decision that names no request",
        body: Body::Refusal(Effect::Gate, |asked| {
            one(asked, Frame::Approval(ApprovalResult { request_seq: 0, ..asked.decision(true) }))
        }),
    },
    Check {
        name: "receipt-other-call",
        promise: "refuses a receipt of another call",
        body: Body::Refusal(Effect::Gate, |asked| asked.decided(true, other_call(asked.receipt(true)))),
    },
    Check {
        name: "receipt-other-request",
        promise: "refuses a receipt that follows from another request than the decision",
        body: Body::Refusal(Effect::Gate, |asked| {
            let receipt = asked.receipt(true);
            let approval_request_seq = receipt.approval_request_seq + 1;
            asked.decided(true, ToolResult { approval_request_seq, ..receipt })
        }),
    },
    Check {
        name: "receipt-denied-but-run",
        promise: "refuses the result of a call that was denied",
        body: Body::Refusal(Effect::Gate, |asked| asked.decided(false, asked.receipt(true))),
    },
    Check {
        name: "receipt-denied-other-error",
        promise: "refuses a receipt of a denied call that does not say APPROVAL_DENIED",
        body: Body::Refusal(Effect::Gate, |asked| asked.decided(false, asked.receipt_with(true, Code::ExecutorError))),
    },
    Check {
        name: "receipt-approved-denied",
        promise: "refuses the receipt of a denial for a call that was approved",
        body: Body::Refusal(Effect::Gate, |asked| asked.decided(true, asked.receipt(false))),
    },
    Check {
        name: "receipt-approved-without-code",
        promise: "refuses the error of an approved call that does not say EXECUTOR_ERROR",
        body: Body::Refusal(Effect::Gate, |asked| asked.decided(true, asked.receipt_with(true, Code::Unspecified))),
    },
    Check {
        name: "receipt-approved-with-code",
        promise: "refuses the success of an approved call that has an error code",
        body: Body::Refusal(Effect::Gate, |asked| asked.decided(true, asked.receipt_with(false, Code::ExecutorError))),
    },
    Check {
        name: "park-other-execution",
        promise: "does not park for another execution",
        body: Body::Refusal(Effect::Gate, |asked| {
            one(asked, Frame::Park(ApprovalRef { execution_id: OTHER.into(), ..asked.park() }))
        }),
    },
    Check {
        name: "park-other-session",
        promise: "does not park for another session",
        body: Body::Refusal(Effect::Gate, |asked| of_other_session(asked, Frame::Park(asked.park()))),
    },
    Check {
        name: "park-other-call",
        promise: "does not park for another call",
        body: Body::Refusal(Effect::Gate, |asked| {
            one(asked, Frame::Park(ApprovalRef { tool_call_id: OTHER.into(), ..asked.park() }))
        }),
    },
    Check {
        name: "park-without-request",
        promise: "does not park for a request without a sequence",
        body: Body::Refusal(Effect::Gate, |asked| {
            one(asked, Frame::Park(ApprovalRef { request_seq: 0, ..asked.park() }))
        }),
    },
    Check {
        name: "start-twice",
        promise: "refuses a second start",
        body: Body::Refusal(Effect::Any, |asked| one(asked, Frame::Start(Start::default()))),
    },
    Check {
        name: "cancel-other-execution",
        promise: "refuses the cancel frame of another execution",
        body: Body::Refusal(Effect::Any, |asked| elsewhere(asked, Frame::Cancel(Cancel::default()))),
    },
    Check {
        name: "unknown-frame",
        promise: "takes no frame that it does not know for an answer, but fails",
        body: Body::Refusal(Effect::Any, |asked| vec![asked.turn.frame(None)]),
    },
];

/// Sends `frames` in place of the answer to the first such effect.
pub(super) async fn refuses(host: &Host, effect: Effect, frames: fn(&Asked) -> Frames) -> Finding {
    let mut conversation = host.open(host.turn()).await.map_err(|error| error.to_string())?;
    let asked = conversation.until(effect).await?;
    conversation.send(frames(&asked)).await;
    conversation.aftermath().await.fails_at_once()
}

fn one(asked: &Asked, frame: Frame) -> Frames {
    vec![asked.frame(frame)]
}

fn elsewhere(asked: &Asked, frame: Frame) -> Frames {
    vec![ControllerFrame { execution_id: OTHER.into(), ..asked.frame(frame) }]
}

fn of_other_session(asked: &Asked, frame: Frame) -> Frames {
    vec![ControllerFrame { session: OTHER.into(), ..asked.frame(frame) }]
}

fn other_call(result: ToolResult) -> ToolResult {
    ToolResult { id: OTHER.into(), ..result }
}
