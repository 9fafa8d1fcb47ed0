//! The harness and the host of these tests.

use std::sync::Arc;

use controller::ports::{HarnessConnection, HarnessPlacement, HostFrame, TurnStart};
use journal::{ExecutionId, SessionUid};
use sdk::{Failure, Harness, Sink, Turn};
use wire::event::Body;
use wire::{
    ApprovalRef, ApprovalResult, Event, HarnessDescriptor, History, Mediation, Message, ModelCall, ModelResult,
    ToolCall, ToolResult, Usage,
};

/// What the harness of a test does, step by step.
#[derive(Clone)]
pub enum Step {
    Model,
    Output(Message),
    /// Says the same for ever, and counts.
    Flood(Message, Arc<tokio::sync::Semaphore>),
    Usage,
    Report,
    Tool,
    Gated,
    Fail,
    Panic,
    /// Waits for ever, holding on to something.
    Hang(Arc<()>),
    /// Says how many events and bytes its history has.
    Measure,
}

/// A harness that follows its script.
pub struct Script(pub Vec<Step>);

#[sdk::async_trait]
impl Harness for Script {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "script".into(), version: "7".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        for step in self.0.clone() {
            take(step, &turn, sink).await?;
        }
        Ok(())
    }
}

async fn take(step: Step, turn: &Turn, sink: &mut Sink) -> Result<(), Failure> {
    match step {
        Step::Model => drop(sink.model(ModelCall { messages: turn.inputs().to_vec(), ..ModelCall::default() }).await?),
        Step::Output(message) => sink.output(message).await?,
        Step::Flood(message, counter) => loop {
            sink.output(message.clone()).await?;
            counter.add_permits(1);
        },
        Step::Usage => sink.usage(Usage { input_tokens: 3, ..Usage::default() }).await?,
        Step::Report => sink.report(ToolResult { id: "own".into(), ..ToolResult::default() }).await?,
        Step::Tool => drop(sink.tool(call("c1")).await?),
        Step::Gated => drop(sink.gated(call("c2")).await?),
        Step::Fail => return Err(Failure::new("out of luck")),
        Step::Panic => panic!("bug"),
        Step::Hang(_held) => std::future::pending().await,
        Step::Measure => {
            let bytes: usize = turn.history().iter().map(prost::Message::encoded_len).sum();
            sink.output(said(&format!("{} {bytes}", turn.history().len()))).await?;
        }
    }
    Ok(())
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), tool: "t".into(), idempotency_key: format!("k-{id}"), ..ToolCall::default() }
}

pub fn said(text: &str) -> Message {
    Message::text("assistant", text)
}

pub fn turn() -> TurnStart {
    TurnStart {
        session: SessionUid::parse("sess-1").expect("a uid"),
        execution: ExecutionId::new("e1"),
        history: History::default(),
        inputs: vec![Message::text("user", "hello")],
        config: b"config".to_vec(),
        resume_from_seq: 5,
        request_id: "request-1".into(),
        invocation: None,
    }
}

/// Acquires, describes and connects, as the engine does.
pub async fn start(placement: &dyn HarnessPlacement, turn: TurnStart) -> Box<dyn HarnessConnection> {
    let mut channel = placement.acquire().await.expect("a channel");
    channel.describe().await.expect("a descriptor");
    channel.connect(turn).await.expect("a connection")
}

/// How the host of a test treats gated calls.
#[derive(Clone, Copy)]
pub enum Gates {
    Park,
    Approve,
    Deny,
}

/// Plays the host until the stream ends, and returns the events of the harness.
pub async fn play(mut connection: Box<dyn HarnessConnection>, gates: Gates) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = connection.next().await.expect("an event") {
        for frame in answers(&event, gates) {
            connection.send(frame).await.expect("a harness that reads");
        }
        events.push(event);
    }
    events
}

fn answers(event: &Event, gates: Gates) -> Vec<HostFrame> {
    match &event.body {
        Some(Body::Model(call)) => vec![HostFrame::Model(ModelResult {
            message: Some(said("yes")),
            usage: None,
            model_call_id: call.id.clone(),
        })],
        Some(Body::Tool(call)) if call.mediation() == Mediation::RequiresApproval => decide(call, gates),
        Some(Body::Tool(call)) => vec![HostFrame::Tool(ToolResult { id: call.id.clone(), ..ToolResult::default() })],
        _ => Vec::new(),
    }
}

fn decide(call: &ToolCall, gates: Gates) -> Vec<HostFrame> {
    let tool_call_id = call.id.clone();
    let (approved, code) = match gates {
        Gates::Park => {
            return vec![HostFrame::Park(ApprovalRef { execution_id: "e1".into(), tool_call_id, request_seq: 4 })];
        }
        Gates::Approve => (true, wire::tool_result::Code::Unspecified),
        Gates::Deny => (false, wire::tool_result::Code::ApprovalDenied),
    };
    let receipt = ToolResult {
        id: tool_call_id.clone(),
        is_error: !approved,
        code: code.into(),
        approval_request_seq: 4,
        approval_decision_seq: 5,
        ..ToolResult::default()
    };
    let decision = ApprovalResult { tool_call_id, approved, reason: "so".into(), request_seq: 4 };
    vec![HostFrame::Approval(decision), HostFrame::Tool(receipt)]
}
