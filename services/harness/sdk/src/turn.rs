//! What a harness is told about the turn it runs.

use wire::controller_frame::Frame;
use wire::{ControllerFrame, History, Invocation, Message, Start};

use crate::Violation;
use crate::frame;

/// One turn (execution) of one session.
#[derive(Clone, Debug)]
pub struct Turn {
    pub(crate) session: String,
    pub(crate) execution: String,
    history: History,
    inputs: Vec<Message>,
    config: Vec<u8>,
    resume_from_seq: i64,
    request_id: String,
    invocation: Option<Invocation>,
}

impl Turn {
    /// An empty turn, to be filled by the `with_` methods.
    ///
    /// # Errors
    /// The execution id is empty.
    pub fn new(session: impl Into<String>, execution: impl Into<String>) -> Result<Self, Violation> {
        let execution = execution.into();
        if execution.is_empty() {
            return Err(Violation::NoExecution);
        }
        Ok(Self {
            session: session.into(),
            execution,
            history: History::default(),
            inputs: Vec::new(),
            config: Vec::new(),
            resume_from_seq: 0,
            request_id: String::new(),
            invocation: None,
        })
    }

    /// Reads the first frame of a stream.
    ///
    /// # Errors
    /// It is not a start frame, or names no execution.
    pub fn from_frame(first: ControllerFrame) -> Result<Self, Violation> {
        let Some(Frame::Start(start)) = first.frame else {
            return Err(Violation::NoStart(frame::name(first.frame.as_ref())));
        };
        let Start { config, history, inputs, identity: _, resume_from_seq, invocation } = start;
        Ok(Self::new(first.session, first.execution_id)?
            .with_history(history.into())
            .with_inputs(inputs)
            .with_config(config)
            .with_resume_from_seq(resume_from_seq)
            .with_invocation(invocation))
    }

    /// With this history.
    #[must_use]
    pub fn with_history(self, history: History) -> Self {
        Self { history, ..self }
    }

    /// With these inputs.
    #[must_use]
    pub fn with_inputs(self, inputs: Vec<Message>) -> Self {
        Self { inputs, ..self }
    }

    /// With this configuration.
    #[must_use]
    pub fn with_config(self, config: Vec<u8>) -> Self {
        Self { config, ..self }
    }

    /// With this cursor.
    #[must_use]
    pub fn with_resume_from_seq(self, resume_from_seq: i64) -> Self {
        Self { resume_from_seq, ..self }
    }

    /// With this request id.
    #[must_use]
    pub fn with_request_id(self, request_id: impl Into<String>) -> Self {
        Self { request_id: request_id.into(), ..self }
    }

    /// With this invocation.
    #[must_use]
    pub fn with_invocation(self, invocation: Option<Invocation>) -> Self {
        Self { invocation, ..self }
    }

    /// The uid of the session.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The id of this execution; the same when the turn is resumed.
    #[must_use]
    pub fn execution(&self) -> &str {
        &self.execution
    }

    /// Every event of the session's log before this turn, of all kinds, in order. Clones share the events. Empty for a
    /// harness that is restored from a memory snapshot.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The messages that this turn is about.
    #[must_use]
    pub fn inputs(&self) -> &[Message] {
        &self.inputs
    }

    /// Opaque bytes from the client, meant for the harness.
    #[must_use]
    pub fn config(&self) -> &[u8] {
        &self.config
    }

    /// A cursor from the client, meant for the harness.
    #[must_use]
    pub fn resume_from_seq(&self) -> i64 {
        self.resume_from_seq
    }

    /// What is invoked, if this turn is the invocation of a typed agent.
    #[must_use]
    pub fn invocation(&self) -> Option<&Invocation> {
        self.invocation.as_ref()
    }

    /// Ties log lines of client, host and harness together; empty if the host sent none.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }
}
