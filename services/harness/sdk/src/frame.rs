//! What a frame from the host must look like at each point of an execution. Pure checks, no waiting.

use wire::controller_frame::Frame;
use wire::tool_result::Code;
use wire::{ApprovalRef, ApprovalResult, ControllerFrame, Message, ToolResult};

use crate::Violation;

/// Which execution of which session a stream belongs to.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) session: String,
    pub(crate) execution: String,
}

/// What the host answers first to a gated call.
pub(crate) enum Gate {
    Parked(ApprovalRef),
    Decided(ApprovalResult),
}

/// The name of a frame in error texts.
pub(crate) fn name(frame: Option<&Frame>) -> &'static str {
    match frame {
        Some(Frame::Start(_)) => "start",
        Some(Frame::Cancel(_)) => "cancel",
        Some(Frame::Approval(_)) => "approval",
        Some(Frame::Tool(_)) => "tool",
        Some(Frame::Model(_)) => "model",
        Some(Frame::Park(_)) => "park",
        Some(Frame::Stream(_)) => "stream",
        None => "empty",
    }
}

impl Address {
    /// Opens a frame that is not the first one.
    pub(crate) fn open(&self, envelope: ControllerFrame) -> Result<Frame, Violation> {
        let name = name(envelope.frame.as_ref());
        if envelope.execution_id != self.execution {
            return Err(Violation::OtherExecution(name));
        }
        match envelope.frame {
            None | Some(Frame::Start(_)) => Err(Violation::Unexpected(name)),
            Some(Frame::Approval(_) | Frame::Tool(_) | Frame::Park(_)) if envelope.session != self.session => {
                Err(Violation::OtherSession(name))
            }
            Some(frame) => Ok(frame),
        }
    }

    /// The first answer to the gated call `call_id`.
    pub(crate) fn gate(&self, call_id: &str, frame: Frame) -> Result<Gate, Violation> {
        match frame {
            Frame::Park(park) => self.park(call_id, park).map(Gate::Parked),
            Frame::Approval(decision) if decision.tool_call_id != call_id => Err(Violation::OtherCall("approval")),
            Frame::Approval(decision) if decision.request_seq <= 0 => Err(Violation::OtherRequest("approval")),
            Frame::Approval(decision) => Ok(Gate::Decided(decision)),
            other => Err(unexpected(&other)),
        }
    }

    fn park(&self, call_id: &str, park: ApprovalRef) -> Result<ApprovalRef, Violation> {
        if park.execution_id != self.execution {
            return Err(Violation::OtherExecution("park"));
        }
        if park.tool_call_id != call_id {
            return Err(Violation::OtherCall("park"));
        }
        if park.request_seq <= 0 {
            return Err(Violation::OtherRequest("park"));
        }
        Ok(park)
    }
}

/// The answer to the model request `call_id`.
pub(crate) fn completion(call_id: &str, frame: Frame) -> Result<Message, Violation> {
    match frame {
        Frame::Model(result) if result.model_call_id != call_id => Err(Violation::OtherCall("model")),
        Frame::Model(result) => result.message.ok_or(Violation::NoMessage),
        other => Err(unexpected(&other)),
    }
}

/// The answer to the tool call `call_id`.
pub(crate) fn tool_result(call_id: &str, frame: Frame) -> Result<ToolResult, Violation> {
    match frame {
        Frame::Tool(result) if result.id != call_id => Err(Violation::OtherCall("tool")),
        Frame::Tool(result) => Ok(result),
        other => Err(unexpected(&other)),
    }
}

/// The result of a gated call after its decision.
pub(crate) fn receipt(decision: &ApprovalResult, frame: Frame) -> Result<ToolResult, Violation> {
    let receipt = tool_result(&decision.tool_call_id, frame)?;
    if receipt.approval_request_seq != decision.request_seq {
        return Err(Violation::OtherRequest("tool"));
    }
    let fits = match (decision.approved, receipt.is_error) {
        (true, false) => receipt.code == Code::Unspecified as i32,
        (true, true) => receipt.code == Code::ExecutorError as i32,
        (false, is_error) => is_error && receipt.code == Code::ApprovalDenied as i32,
    };
    if fits { Ok(receipt) } else { Err(Violation::Contradiction) }
}

fn unexpected(frame: &Frame) -> Violation {
    Violation::Unexpected(name(Some(frame)))
}
