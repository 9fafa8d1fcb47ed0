//! The way out of a harness: every effect of a turn.

use std::future::pending;
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::tool_result::Code;
use wire::{ApprovalRef, ApprovalResult, Event, EventKind, Mediation, Message, ModelCall, ToolCall, ToolResult, Usage};

use crate::frame::{self, Address, Gate};
use crate::{Failure, Refusal, SinkError, Streams, Violation};

/// Asks the host for effects and reports what the harness did itself. One at a time: each method is done when the host
/// has answered, or, where there is no answer, when the event is on its way.
///
/// An effect must not be dropped before it is done (by `select!` or a timeout): its answer could be taken for that of
/// the next one, so every later effect fails with [`SinkError::Abandoned`].
pub struct Sink {
    address: Arc<Address>,
    outgoing: mpsc::Sender<Event>,
    replies: mpsc::Receiver<Frame>,
    waiting: bool,
    /// Of the turn, whoever has the sink.
    broken: Arc<OnceLock<SinkError>>,
    model_calls: u64,
    streams: Streams,
}

/// A gated call that was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// Whether the call was allowed to run.
    pub approved: bool,
    /// What whoever decided said about it.
    pub reason: String,
    /// The result of the call, or the receipt of the denial.
    pub result: ToolResult,
}

impl Sink {
    pub(crate) fn new(
        address: Arc<Address>,
        outgoing: mpsc::Sender<Event>,
        replies: mpsc::Receiver<Frame>,
        streams: Streams,
    ) -> Self {
        Self { address, outgoing, replies, waiting: false, broken: Arc::default(), model_calls: 0, streams }
    }

    /// The same sink for somebody else. This one gets no answers any more.
    pub(crate) fn hand_over(&mut self) -> Self {
        let (_, nothing) = mpsc::channel(1);
        Self {
            address: Arc::clone(&self.address),
            outgoing: self.outgoing.clone(),
            replies: std::mem::replace(&mut self.replies, nothing),
            waiting: self.waiting,
            broken: Arc::clone(&self.broken),
            model_calls: self.model_calls,
            streams: self.streams.clone(),
        }
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Completes a model request. `call.id` may be left empty; `call.input_hash` is the host's to fill.
    ///
    /// # Errors
    /// [`SinkError`].
    pub async fn model(&mut self, mut call: ModelCall) -> Result<Message, SinkError> {
        self.model_calls += 1;
        if call.id.is_empty() {
            call.id = format!("model-{}", self.model_calls);
        }
        let id = call.id.clone();
        let reply = self.ask(EventKind::EventModelCall, Body::Model(call)).await?;
        self.settle(frame::completion(&id, reply))
    }

    /// Says something in the name of the assistant. The log keeps its text.
    ///
    /// # Errors
    /// [`SinkError`].
    pub async fn output(&mut self, message: Message) -> Result<(), SinkError> {
        self.emit(EventKind::EventOutput, Body::Message(message)).await
    }

    /// Reports what the harness used up on its own, outside of the host's model calls.
    ///
    /// # Errors
    /// [`SinkError`].
    pub async fn usage(&mut self, usage: Usage) -> Result<(), SinkError> {
        self.emit(EventKind::EventUsage, Body::Usage(usage)).await
    }

    /// Reports the result of a tool that the harness ran itself.
    ///
    /// # Errors
    /// [`SinkError`].
    pub async fn report(&mut self, result: ToolResult) -> Result<(), SinkError> {
        let sequences = (result.approval_request_seq, result.approval_decision_seq);
        if sequences != (0, 0) || result.code == Code::ApprovalDenied as i32 {
            return Err(Refusal::ReportedReceipt.into());
        }
        self.emit(EventKind::EventToolResult, Body::Result(result)).await
    }

    /// Has the host run a tool. The idempotency key must be the same when the turn is run again.
    ///
    /// # Errors
    /// [`SinkError`].
    pub async fn tool(&mut self, call: ToolCall) -> Result<ToolResult, SinkError> {
        let id = call.id.clone();
        let reply = self.call(call, Mediation::ControllerMediated).await?;
        self.settle(frame::tool_result(&id, reply))
    }

    /// Has the host run a tool once somebody has approved it.
    ///
    /// Until then the turn is parked: the host stops this run, which never returns from here, and runs the turn again
    /// when the decision has been made. That run reaches this call a second time and gets the decision.
    ///
    /// # Errors
    /// [`SinkError`].
    pub async fn gated(&mut self, call: ToolCall) -> Result<Decided, SinkError> {
        if call.id.is_empty() {
            return Err(Refusal::NoCallId.into());
        }
        let id = call.id.clone();
        let reply = self.call(call, Mediation::RequiresApproval).await?;
        match self.address.gate(&id, reply) {
            Ok(Gate::Decided(decision)) => self.receipt(decision).await,
            Ok(Gate::Parked(request)) => self.park(request).await,
            Err(violation) => self.settle(Err(violation)),
        }
    }

    /// What the turn ends with when the harness returned `returned`: a broken protocol cannot be returned away.
    pub(crate) fn outcome(self, returned: Result<(), Failure>) -> Result<(), Failure> {
        match self.broken.get() {
            Some(broken) if returned.is_ok() => Err(broken.clone().into()),
            _ => returned,
        }
    }

    async fn call(&mut self, mut call: ToolCall, mediation: Mediation) -> Result<Frame, SinkError> {
        if call.idempotency_key.is_empty() {
            return Err(Refusal::NoIdempotencyKey.into());
        }
        call.mediation = mediation as i32;
        self.ask(EventKind::EventToolCall, Body::Tool(call)).await
    }

    async fn receipt(&mut self, decision: ApprovalResult) -> Result<Decided, SinkError> {
        let reply = self.reply().await?;
        let result = self.settle(frame::receipt(&decision, reply))?;
        Ok(Decided { approved: decision.approved, reason: decision.reason, result })
    }

    /// Acknowledges and waits for the run to be stopped, which happens as soon as the acknowledgement is read.
    async fn park<T>(&mut self, request: ApprovalRef) -> T {
        // A run that is gone already has nobody to tell.
        let _ = self.outgoing.send(self.address.event(EventKind::EventParked, Body::Parked(request))).await;
        pending().await
    }

    async fn ask(&mut self, kind: EventKind, body: Body) -> Result<Frame, SinkError> {
        self.emit(kind, body).await?;
        self.waiting = true;
        self.reply().await
    }

    async fn emit(&mut self, kind: EventKind, body: Body) -> Result<(), SinkError> {
        self.check()?;
        let event = self.address.event(kind, body);
        self.outgoing.send(event).await.map_err(|_| self.fail(SinkError::Closed))
    }

    async fn reply(&mut self) -> Result<Frame, SinkError> {
        self.replies.recv().await.ok_or_else(|| self.fail(SinkError::Closed))
    }

    /// Whether the next effect can begin.
    fn check(&mut self) -> Result<(), SinkError> {
        if let Some(broken) = self.broken.get() {
            return Err(broken.clone());
        }
        if self.waiting {
            return Err(self.fail(SinkError::Abandoned));
        }
        match self.replies.try_recv() {
            Ok(frame) => Err(self.fail(Violation::Unexpected(frame::name(Some(&frame))).into())),
            Err(_) => Ok(()),
        }
    }

    fn settle<T>(&mut self, answer: Result<T, Violation>) -> Result<T, SinkError> {
        self.waiting = false;
        answer.map_err(|violation| self.fail(violation.into()))
    }

    fn fail(&self, error: SinkError) -> SinkError {
        self.broken.get_or_init(|| error.clone());
        error
    }
}
