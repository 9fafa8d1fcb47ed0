//! An agent that answers the customers of a shop and pays money back once somebody has approved it.
//! docs/harness-rust.md walks through it.

use sdk::{Failure, Harness, Sink, Turn};
use serde_json::json;
use wire::event::Body;
use wire::part::Part;
use wire::{Event, HarnessDescriptor, Message, ModelCall, ToolCall, ToolDefinition, ToolResult};

struct Refunds;

#[sdk::async_trait]
impl Harness for Refunds {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "refunds".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let said = turn.history().iter().filter_map(message);
        let mut messages: Vec<Message> = said.chain(turn.inputs().iter().cloned()).collect();
        loop {
            let question = ModelCall { messages: messages.clone(), tools: vec![refund()?], ..ModelCall::default() };
            let answer = sink.model(question).await?;
            let calls = tool_calls(&answer);
            messages.push(answer);
            if calls.is_empty() {
                return Ok(());
            }
            for call in calls {
                let idempotency_key = format!("{}/{}", turn.execution(), call.id);
                let decided = sink.gated(ToolCall { idempotency_key, ..call }).await?;
                messages.push(tool_message(decided.result));
            }
        }
    }
}

/// The tool, as the model is told of it.
fn refund() -> Result<ToolDefinition, Failure> {
    let text = json!({ "type": "string" });
    let input_schema = json!({
        "type": "object",
        "properties": { "order": text, "amount": text },
        "required": ["order", "amount"],
    });
    Ok(ToolDefinition {
        name: "refund".into(),
        description: "Pays money back to the customer of an order.".into(),
        input_schema: Some(serde_json::from_value(input_schema)?),
    })
}

/// What an event of an earlier turn means to the model.
fn message(event: &Event) -> Option<Message> {
    match &event.body {
        Some(Body::Message(message)) => Some(message.clone()),
        Some(Body::Result(result)) => Some(tool_message(result.clone())),
        _ => None,
    }
}

fn tool_message(result: ToolResult) -> Message {
    Message { role: "tool".into(), parts: vec![Part::ToolResult(result).into()] }
}

fn tool_calls(answer: &Message) -> Vec<ToolCall> {
    let calls = answer.parts.iter().filter_map(|part| match &part.part {
        Some(Part::ToolCall(call)) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".into());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("serving refunds on {}", listener.local_addr()?);
    let interrupted = async {
        // Without a signal handler the process ends at once, which a harness can stand.
        let _ = tokio::signal::ctrl_c().await;
    };
    sdk::serve(Refunds, listener, interrupted).await?;
    Ok(())
}
