//! The Rust SDK on a real node: every effect once, a park, a node that is killed, and what is recorded of it all.

use sdk::{Failure, Harness, Sink, Turn};
use support::{ModelServer, NodeBuilder, TOOL, ToolServer, kinds, serve_harness};
use tokio::sync::mpsc;
use wire::EventKind::{self, EventApprovalRequest, EventApprovalResult, EventEnd, EventExecutionStart, EventInput};
use wire::EventKind::{EventLifecycle, EventModelCall, EventOutput, EventToolCall, EventToolResult, EventUsage};
use wire::event::Body;
use wire::{ApproveRequest, HarnessDescriptor, Message, ModelCall, ToolCall, ToolResult, Usage};

const PARKED: [EventKind; 9] = [
    EventExecutionStart,
    EventInput,
    EventModelCall,
    EventOutput,
    EventToolCall,
    EventToolResult,
    EventToolCall,
    EventApprovalRequest,
    EventLifecycle,
];
const RESUMED: [EventKind; 7] =
    [EventApprovalResult, EventToolResult, EventUsage, EventToolResult, EventOutput, EventEnd, EventLifecycle];

/// Asks for every effect, and tells what the model answered in each run.
struct EveryEffect(mpsc::Sender<Message>);

#[sdk::async_trait]
impl Harness for EveryEffect {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "every-effect".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let answer = sink.model(ModelCall { messages: turn.inputs().to_vec(), ..ModelCall::default() }).await?;
        self.0.send(answer).await?;
        let run = sink.tool(call(&turn, "t1")).await?;
        let decided = sink.gated(call(&turn, "g1")).await?;
        sink.usage(usage()).await?;
        sink.report(ToolResult { id: "r1".into(), ..ToolResult::default() }).await?;
        let said = format!("{} {} {}", run.is_error, decided.approved, decided.reason);
        let parts = [vec![wire::Part::text(said)], decided.result.content].concat();
        sink.output(Message { role: "assistant".into(), parts }).await?;
        Ok(())
    }
}

fn call(turn: &Turn, id: &str) -> ToolCall {
    let idempotency_key = format!("{}/{id}", turn.execution());
    ToolCall { id: id.into(), tool: TOOL.into(), idempotency_key, ..ToolCall::default() }
}

fn usage() -> Usage {
    Usage { model: "own".into(), input_tokens: 3, output_tokens: 4, reasoning_tokens: 5 }
}

#[tokio::test]
async fn every_effect_is_recorded_once_and_served_again_after_the_node_was_killed() {
    let (told, mut answers) = mpsc::channel(2);
    let (model, tools) = (ModelServer::start().await, ToolServer::start().await);
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path())
        .flag("--model", "m")
        .flag("--model-base-url", model.base_url())
        .flag("--harness", format!("every={}", serve_harness(EveryEffect(told)).await));
    let builder = tools.node(builder, directory.path());

    let mut node = builder.start().await;
    let mut api = node.api().await;
    let uid = api.create("every").await.metadata.unwrap().uid;
    assert_eq!(kinds(&api.turn(&uid, "hello").await), PARKED);
    let gate = api.get(&uid).await.unwrap().pending_approval.unwrap();
    node.kill();

    let node = builder.start().await;
    let mut api = node.api().await;
    let decision = ApproveRequest {
        session: uid.clone(),
        execution_id: gate.execution_id.clone(),
        tool_call_id: gate.tool_call_id,
        request_seq: gate.request_seq,
        approved: Some(true),
        reason: "because".into(),
        identity: None,
    };
    api.approve(decision).await.unwrap();
    api.resume(&uid).await.unwrap();

    let log = api.log(&uid).await;
    assert_eq!(kinds(&log), [&PARKED[..], &RESUMED].concat());
    let body = |seq: usize| log[seq - 1].event.as_ref().unwrap().body.clone().unwrap();
    let Body::Result(receipt) = body(11) else { panic!("no receipt") };
    assert_eq!((receipt.approval_request_seq, receipt.approval_decision_seq), (8, 10));
    assert_eq!(body(12), Body::Usage(usage()));
    assert_eq!(body(14), Body::Message(Message::text("assistant", "false true becausecharged")));

    assert_eq!(model.calls(), 1);
    let keys: Vec<String> = ["t1", "g1"].map(|id| format!("{}/{id}", gate.execution_id)).into();
    assert_eq!(tools.calls(), keys.into_iter().map(|key| (uid.clone(), key)).collect::<Vec<_>>());
    let (first, second) = (answers.recv().await.unwrap(), answers.recv().await.unwrap());
    assert_eq!((&first, body(4)), (&second, Body::Message(second.clone())));
}
