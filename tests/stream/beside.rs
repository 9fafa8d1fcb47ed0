//! Streams while the turn of their invocation waits for something else.

use std::time::Duration;

use sdk::schema::{self, record, stream};
use sdk::{Agent, Agents, Call, Failure, Input, Method, Outlet};
use serde_json::json;
use support::stream_session::{Invoking, string};
use support::{AgentServer, ModelServer};
use tokio::time::{Instant, sleep};
use wire::ModelCall;

use crate::world::World;

/// How long the model takes for its answer.
const THINKS: Duration = Duration::from_secs(15);

/// Gives back what comes, while it asks a model.
fn thinking() -> Agents {
    async fn think(mut call: Call) -> Result<Outlet<String>, Failure> {
        let mut lines: Input<String> = call.parameter("lines")?;
        let (outlet, mut output) = call.output();
        let streams = call.streams().clone();
        streams.beside(async move {
            while let Some(line) = lines.next().await {
                output.send(line?).await?;
            }
            output.end();
            Ok(())
        });
        streams.beside(async move {
            // What it answers does not matter.
            let _ = call.sink().model(ModelCall { messages: Vec::new(), ..ModelCall::default() }).await;
            Ok(())
        });
        Ok(outlet)
    }
    let method = Method::new("think", record([("lines", stream(schema::string()))]), think);
    let agent = Agent::new("thinker").method(method.returns(stream(schema::string())));
    Agents::new("agents", "1", [agent]).unwrap()
}

#[tokio::test]
async fn items_go_both_ways_while_a_model_thinks() {
    let model = ModelServer::thinking(THINKS).await;
    let world = World::of(AgentServer::serving(thinking()).await);
    let node = world.node().flag("--model-base-url", model.base_url()).start().await;
    let mut session = Invoking::method("thinker", "think").stream().start(node.streams_address()).await;
    let begun = Instant::now();
    while model.calls() == 0 {
        assert!(begun.elapsed() < support::BOUND, "the model is not asked");
        sleep(Duration::from_millis(10)).await;
    }
    let (asked, input) = (Instant::now(), session.input());
    for (sequence, text) in ["a", "b"].into_iter().enumerate() {
        session.send_value(input, sequence as u64, &string(text)).await;
        assert_eq!(session.message("outputStreamItem").await["value"], string(text));
    }
    assert!(asked.elapsed() < THINKS, "items come only once the model has answered");
    session.send_end(input, 2).await;
    assert_eq!(session.finished().await, json!({"kind": "success"}));
    assert_eq!(model.calls(), 1);
}
