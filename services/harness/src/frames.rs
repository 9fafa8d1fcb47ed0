//! How the engine's frames look on the wire.

use controller::ports::{HostFrame, TurnStart};
use wire::ControllerFrame;
use wire::controller_frame::Frame;

/// Puts the session and the execution on every frame of one stream.
pub(crate) struct Envelope {
    session: String,
    execution: String,
}

impl Envelope {
    pub(crate) fn of(turn: &TurnStart) -> Self {
        Self { session: turn.session.as_str().to_owned(), execution: turn.execution.as_str().to_owned() }
    }

    /// A frame without content.
    pub(crate) fn empty(&self) -> ControllerFrame {
        ControllerFrame { session: self.session.clone(), execution_id: self.execution.clone(), frame: None }
    }

    /// A later frame.
    pub(crate) fn frame(&self, frame: HostFrame) -> ControllerFrame {
        let frame = match frame {
            HostFrame::Model(result) => Frame::Model(result),
            HostFrame::Tool(result) => Frame::Tool(result),
            HostFrame::Approval(decision) => Frame::Approval(decision),
            HostFrame::Park(request) => Frame::Park(request),
            HostFrame::Cancel(cancel) => Frame::Cancel(cancel),
            HostFrame::Stream(stream) => Frame::Stream(stream),
        };
        ControllerFrame { frame: Some(frame), ..self.empty() }
    }
}
