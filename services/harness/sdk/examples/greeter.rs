//! A harness that passes the inputs of a turn to the model and says the answer in capitals.
//!
//! Run it, then give its address to a host: `agentsessionsd --model … --harness greeter=127.0.0.1:9000`.

use sdk::{Failure, Harness, Sink, Turn};
use wire::{Capabilities, HarnessDescriptor, Message, ModelCall, Resumability};

struct Greeter;

#[sdk::async_trait]
impl Harness for Greeter {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor {
            id: "greeter".into(),
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
        let question = ModelCall { messages: turn.inputs().to_vec(), ..ModelCall::default() };
        let answer = sink.model(question).await?;
        sink.output(Message::text("assistant", answer.text_content().to_uppercase())).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
    let interrupted = async {
        // Without a signal handler the process ends at once, which a harness can stand.
        let _ = tokio::signal::ctrl_c().await;
    };
    sdk::serve(Greeter, listener, interrupted).await?;
    Ok(())
}
