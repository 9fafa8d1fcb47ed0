//! How the engine's frames look on the wire.

use controller::ports::{HostFrame, TurnStart};
use wire::controller_frame::Frame;
use wire::{ControllerFrame, Start};

/// Puts the session and the execution on every frame of one stream.
pub(crate) struct Envelope {
    session: String,
    execution: String,
}

impl Envelope {
    pub(crate) fn of(turn: &TurnStart) -> Self {
        Self { session: turn.session.as_str().to_owned(), execution: turn.execution.as_str().to_owned() }
    }

    /// The first frame. Copies the history, which the wire needs in one piece.
    pub(crate) fn start(&self, turn: TurnStart) -> ControllerFrame {
        self.seal(Frame::Start(Start {
            config: turn.config,
            history: turn.history.to_vec(),
            inputs: turn.inputs,
            identity: None,
            resume_from_seq: turn.resume_from_seq,
        }))
    }

    /// A later frame.
    pub(crate) fn frame(&self, frame: HostFrame) -> ControllerFrame {
        self.seal(match frame {
            HostFrame::Model(result) => Frame::Model(result),
            HostFrame::Tool(result) => Frame::Tool(result),
            HostFrame::Approval(decision) => Frame::Approval(decision),
            HostFrame::Park(request) => Frame::Park(request),
            HostFrame::Cancel(cancel) => Frame::Cancel(cancel),
        })
    }

    fn seal(&self, frame: Frame) -> ControllerFrame {
        ControllerFrame { session: self.session.clone(), execution_id: self.execution.clone(), frame: Some(frame) }
    }
}
