//! A harness that does what the configuration of its turn says, one step after the other. `agentctl conformance` runs
//! every check on it:
//!
//! ```text
//! cargo run -p agentsessions-harness-sdk --example conformance -- 127.0.0.1:9000
//! agentctl conformance --harness 127.0.0.1:9000
//! ```
//!
//! The configuration is a JSON array of steps; without one all kinds of effects are shown once.
//!
//! ```text
//! {"model": "text of the user"}   {"tool": "id"}    {"output": "text"}   {"usage": tokens}
//! {"gated": "id"}                 {"report": "id"}  {"fail": "text"}
//! ```

use sdk::{Failure, Harness, Sink, Turn};
use serde::Deserialize;
use wire::{Capabilities, HarnessDescriptor, Message, ModelCall, Resumability, ToolCall, ToolResult, Usage};

/// Does what it is told.
pub struct Conformance;

/// One thing to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Model(String),
    Tool(String),
    Gated(String),
    Output(String),
    Usage(i64),
    Report(String),
    Fail(String),
}

#[sdk::async_trait]
impl Harness for Conformance {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor {
            id: "conformance".into(),
            version: "1".into(),
            capabilities: Some(Capabilities {
                resumability: Resumability::StatelessReplay as i32,
                fork_safe: true,
                ..Capabilities::default()
            }),
            ..HarnessDescriptor::default()
        }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        for step in steps(turn.config())? {
            take(step, turn.execution(), sink).await?;
        }
        Ok(())
    }
}

fn steps(config: &[u8]) -> Result<Vec<Step>, serde_json::Error> {
    if !config.is_empty() {
        return serde_json::from_slice(config);
    }
    Ok(vec![
        Step::Model("hello".into()),
        Step::Tool("t1".into()),
        Step::Gated("g1".into()),
        Step::Usage(3),
        Step::Report("r1".into()),
        Step::Output("done".into()),
    ])
}

async fn take(step: Step, execution: &str, sink: &mut Sink) -> Result<(), Failure> {
    match step {
        Step::Model(question) => {
            let messages = vec![Message::text("user", question)];
            sink.model(ModelCall { model: "any".into(), messages, ..ModelCall::default() }).await?;
        }
        Step::Tool(id) => drop(sink.tool(call(execution, id)).await?),
        Step::Gated(id) => drop(sink.gated(call(execution, id)).await?),
        Step::Output(text) => sink.output(Message::text("assistant", text)).await?,
        Step::Usage(input_tokens) => {
            sink.usage(Usage { model: "own".into(), input_tokens, ..Usage::default() }).await?;
        }
        Step::Report(id) => sink.report(ToolResult { id, ..ToolResult::default() }).await?,
        Step::Fail(why) => return Err(Failure::new(why)),
    }
    Ok(())
}

/// The key names the call in its turn: it is the same whenever the turn is run again.
fn call(execution: &str, id: String) -> ToolCall {
    ToolCall { tool: "any".into(), idempotency_key: format!("{execution}/{id}"), id, ..ToolCall::default() }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: conformance HOST:PORT")?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("serving conformance on {}", listener.local_addr()?);
    let interrupted = async {
        // Without a signal handler the process ends at once, which a harness can stand.
        let _ = tokio::signal::ctrl_c().await;
    };
    sdk::serve(Conformance, listener, interrupted).await?;
    Ok(())
}
