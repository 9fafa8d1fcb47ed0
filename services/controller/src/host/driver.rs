//! Performs what a [`Turn`] asks for: the only place where the turn engine meets I/O.

use std::time::Duration;

use async_trait::async_trait;
use cluster::Coordinator;
use env::Env;
use journal::{AppendError, ExecutionId, Journal, Seq, SessionUid, Writer};
use prost::Message;
use tokio::time::Instant;
use tracing::Instrument;
use wire::event::Body;
use wire::{Cancel, Event, EventKind, LogRecord, ModelCall, ToolCall, ToolResult};

use super::context::Bounds;
use super::exchange::Exchange;
use super::limits::{LimitedConnection, TurnLimits};
use super::updates::{Deltas, Updates};
use crate::metrics::METRICS;
use crate::ports::{
    HarnessChannel, HarnessConnection, HarnessFailure, HostFrame, ModelProvider, ToolError, ToolExecutor, TurnStart,
};
use crate::turn::{Action, Input, Interruption, LostWriter, Refusal, Turn, TurnEnd};

/// Largest result of a tool, in bytes. The journal's transactions hold 10 MB.
const MAX_RESULT_BYTES: usize = 8 << 20;
/// How long a harness that was told to park may take to say so.
const PARK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long opening the execution's stream may take; the harness has just described itself on the same connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a harness that was told to stop may take to do so.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What a turn runs against.
pub(super) struct Driver<'a> {
    pub(super) journal: &'a Journal,
    pub(super) coordinator: &'a dyn Coordinator,
    pub(super) env: &'a Env,
    pub(super) models: &'a dyn ModelProvider,
    pub(super) tools: Option<&'a dyn ToolExecutor>,
    pub(super) bounds: &'a Bounds,
    pub(super) limits: TurnLimits,
    pub(super) session: SessionUid,
    pub(super) execution: ExecutionId,
    pub(super) writer: &'a mut Writer,
    pub(super) updates: &'a mut Updates,
    /// The streams, if the turn is an invocation.
    pub(super) exchange: Option<Box<Exchange>>,
    /// Everything the turn appends, in order.
    pub(super) appended: &'a mut Vec<LogRecord>,
}

/// Something that a harness has asked for and waits for.
#[derive(Clone, Copy)]
enum Call<'c> {
    Model(&'c ModelCall),
    Tool(&'c ToolCall),
}

impl Driver<'_> {
    /// Runs `turn` to its end on the harness behind `channel`.
    pub(super) async fn run(mut self, mut turn: Turn, channel: Box<dyn HarnessChannel>, start: TurnStart) -> TurnEnd {
        let bounds = self.bounds;
        let (connection, mut action) = match bounds.or_interrupted(connect(channel, start)).await {
            Ok(Ok(connection)) => (connection, turn.start()),
            Ok(Err(failure)) => {
                METRICS.not_connected();
                (Unconnected::boxed(), turn.on(failure.into()))
            }
            Err(interruption) => (Unconnected::boxed(), turn.on(Input::Interrupted(interruption))),
        };
        let mut connection = LimitedConnection::new(connection, self.limits);
        loop {
            let done = match action {
                Action::Finish(end) => return end,
                // A commit under way is never abandoned.
                Action::Append(events) => Ok(self.append(events).await),
                Action::CallModel(call) => self.call(&mut connection, Call::Model(&call)).await,
                Action::CallTool(call) => self.call(&mut connection, Call::Tool(&call)).await,
                Action::Send(frame) => bounds.or_interrupted(connection.send(frame)).await,
                Action::Stop => Ok(self.stop(&mut connection).await),
                Action::ReadHarness => bounds.or_interrupted(self.read(&mut connection)).await,
                Action::ReadParked => bounds.or_interrupted(self.read_parked(&mut connection)).await,
            };
            action = turn.on(done.unwrap_or_else(Input::Interrupted));
        }
    }

    /// Makes a call for the harness. The streams of an invocation go on meanwhile.
    async fn call(&mut self, connection: &mut LimitedConnection, call: Call<'_>) -> Result<Input, Interruption> {
        let (begun, bounds) = (Instant::now(), self.bounds);
        let (env, fence) = (self.env, self.writer.fence());
        let mut exchange = self.exchange.take();
        // Apart, so that turns which make no call need not be as large.
        let answer = Box::pin(async {
            match call {
                Call::Model(call) => self.call_model(call).instrument(tracing::info_span!("model")).await,
                Call::Tool(call) => {
                    self.call_tool(call).instrument(tracing::info_span!("tool", tool = call.tool)).await
                }
            }
        });
        let done = match &mut exchange {
            Some(exchange) => bounds.or_interrupted(Box::pin(exchange.beside(connection, (env, fence), answer))).await,
            None => bounds.or_interrupted(answer).await,
        };
        self.exchange = exchange;
        let calls = match call {
            Call::Model(_) => &METRICS.model_calls,
            Call::Tool(_) => &METRICS.tool_calls,
        };
        calls.ended(begun, &done);
        done
    }

    async fn read(&mut self, connection: &mut LimitedConnection) -> Input {
        let input = match &mut self.exchange {
            // Apart, so that other turns need not be as large.
            Some(exchange) => Box::pin(exchange.next(connection, self.env, self.writer.fence())).await,
            None => connection.next(self.env).await,
        };
        if matches!(input, Input::Closed) {
            // Taken as success, since harnesses rely on it; their authors should still learn of it.
            tracing::info!(session = %self.session, execution = %self.execution, "harness closed its stream without END");
        }
        input
    }

    async fn read_parked(&mut self, connection: &mut LimitedConnection) -> Input {
        tokio::time::timeout(PARK_TIMEOUT, self.next_parked(connection))
            .await
            .unwrap_or_else(|_elapsed| Input::HarnessFailed("it did not park in time".into()))
    }

    /// What an invocation was about to stream or to return it says again when it is resumed.
    async fn next_parked(&mut self, connection: &mut LimitedConnection) -> Input {
        let again = |input: &Input| match input {
            Input::Event { event, .. } => matches!(event.kind(), EventKind::EventStream | EventKind::EventReturn),
            _ => false,
        };
        loop {
            let input = connection.next(self.env).await;
            if self.exchange.is_none() || !again(&input) {
                return input;
            }
        }
    }

    /// A harness that does not stop in time is cut off when its connection is dropped, as one that has failed is.
    async fn stop(&mut self, connection: &mut LimitedConnection) -> Input {
        let bounds = self.bounds;
        tokio::select! {
            biased;
            stopped = tokio::time::timeout(STOP_TIMEOUT, self.cooperative_stop(connection)) => {
                let in_time = stopped.is_ok();
                tracing::info!(session = %self.session, execution = %self.execution, in_time, "turn is canceled");
            }
            () = bounds.draining() => {}
        }
        Input::Stopped
    }

    /// Tells the harness to stop and reads, unheeded, what it says until it has.
    async fn cooperative_stop(&mut self, connection: &mut LimitedConnection) {
        let cancel = Cancel { reason: self.bounds.stop_order().reason().to_owned() };
        let mut heard = connection.send(HostFrame::Cancel(cancel)).await;
        let has_stopped = |heard: &Input| match heard {
            Input::Sent => false,
            Input::Event { event, .. } => event.kind() == EventKind::EventEnd,
            _ => true,
        };
        while !has_stopped(&heard) {
            heard = connection.next(self.env).await;
        }
    }

    async fn append(&mut self, events: Vec<Event>) -> Input {
        match self.journal.append(self.writer, events).await {
            Ok(records) => {
                let first = records.first().and_then(|record| Seq::from_wire(record.seq)).unwrap_or_default();
                self.updates.records(&records).await;
                self.appended.extend(records);
                Input::Appended(first)
            }
            Err(error) => Input::Refused(refusal(error)),
        }
    }

    async fn call_model(&mut self, call: &ModelCall) -> Input {
        let mut deltas = Deltas {
            updates: self.updates,
            coordinator: self.coordinator,
            session: &self.session,
            execution: &self.execution,
        };
        match self.models.complete(call, &mut deltas).await {
            Ok(completion) => {
                if completion.streamed {
                    deltas.finish().await;
                }
                Input::ModelAnswered(completion.message)
            }
            Err(error) => Input::ModelFailed(error.0),
        }
    }

    async fn call_tool(&mut self, call: &ToolCall) -> Input {
        let outcome = match self.tools {
            None => Err(ToolError::NotConfigured),
            Some(tools) => tools.execute(&self.session, call).await,
        };
        match outcome {
            Ok(result) => answered(result),
            Err(ToolError::NotConfigured) => Input::NoToolExecutor(call.tool.clone()),
            Err(ToolError::Failed(text)) => Input::ToolFailed(text),
        }
    }
}

/// A result that no record can hold is as if the tool had failed: asked again, it would only answer the same.
fn answered(result: ToolResult) -> Input {
    let size = result.encoded_len();
    if size > MAX_RESULT_BYTES {
        return Input::ToolFailed(format!(
            "its result of {size} bytes exceeds the {MAX_RESULT_BYTES} that a record can hold"
        ));
    }
    let event = Event::new(EventKind::EventToolResult, Body::Result(result.clone()));
    match wire::content_hash(&event, 1, None) {
        Ok(_) => Input::ToolAnswered(result),
        Err(error) => Input::ToolFailed(format!("its result cannot be recorded: {error}")),
    }
}

async fn connect(
    channel: Box<dyn HarnessChannel>,
    start: TurnStart,
) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
    tokio::time::timeout(CONNECT_TIMEOUT, channel.connect(start))
        .await
        .unwrap_or_else(|_elapsed| Err(HarnessFailure::new("it did not take the turn in time")))
}

/// Stands where a connection could not be opened.
struct Unconnected;

impl Unconnected {
    fn boxed() -> Box<dyn HarnessConnection> {
        Box::new(Self)
    }
}

#[async_trait]
impl HarnessConnection for Unconnected {
    async fn send(&mut self, _: HostFrame) -> Result<(), HarnessFailure> {
        Err(HarnessFailure::new("it is not connected"))
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        Err(HarnessFailure::new("it is not connected"))
    }
}

fn refusal(error: AppendError) -> Refusal {
    match error {
        AppendError::Conflict | AppendError::NoSession => Refusal::Lost(LostWriter::Conflict),
        AppendError::Fenced => Refusal::Lost(LostWriter::Fenced),
        AppendError::Unknown => Refusal::Lost(LostWriter::Unknown),
        AppendError::Journal(error) => Refusal::Failed(error.to_string()),
        AppendError::NotCanonical(error) => Refusal::Unrecordable(error.to_string()),
        AppendError::TooLarge(error) => Refusal::Unrecordable(error.to_string()),
    }
}
