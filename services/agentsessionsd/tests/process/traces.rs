//! What a node exports of its calls and turns.

use support::{Api, ModelServer, NodeBuilder, ReceivedSpan, TraceReceiver, text};
use tonic::Request;
use wire::ExecRequest;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const KEY: &str = "sk-the-key-of-the-provider";

/// Runs a turn as part of a trace, and returns its session.
async fn traced_turn(api: &mut Api, harness: &str) -> String {
    let session = api.create(harness).await.metadata.unwrap().uid;
    let inputs = vec![text("contents of a message")];
    let mut request = Request::new(ExecRequest { session: session.clone(), inputs, ..ExecRequest::default() });
    request.metadata_mut().insert("traceparent", format!("00-{TRACE}-{CALLER}-01").parse().unwrap());
    let mut updates = api.client.exec(request).await.unwrap().into_inner();
    while updates.message().await.unwrap().is_some() {}
    session
}

fn find<'s>(spans: &'s [ReceivedSpan], name: &str, parent: &str) -> Option<&'s ReceivedSpan> {
    spans.iter().find(|span| span.name == name && span.trace_id == TRACE && span.parent_span_id == parent)
}

#[tokio::test]
async fn a_turn_is_part_of_its_callers_trace_and_tells_nothing_of_what_is_said_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let (collector, model) = (TraceReceiver::start().await, ModelServer::start().await);
    let builder = NodeBuilder::new(directory.path()).flag("--otlp-endpoint", collector.endpoint());
    let builder = builder.flag("--node-name", "one");
    let builder =
        builder.flag("--model", "m").flag("--model-base-url", model.base_url()).variable("MODEL_API_KEY", KEY);
    let mut node = builder.start().await;
    let session = traced_turn(&mut node.api().await, "chat").await;
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());

    let (call, turn, model_call) = collector
        .until(|spans| {
            let call = find(spans, "call", CALLER)?;
            let turn = find(spans, "turn", &call.span_id)?;
            let model_call = find(spans, "model", &turn.span_id)?;
            Some((call.clone(), turn.clone(), model_call.clone()))
        })
        .await;
    assert_eq!(call.attributes["operation"], "Exec");
    assert_eq!((&call.attributes["session"], &turn.attributes["session"]), (&session, &session));
    assert_eq!((turn.attributes["node"].as_str(), turn.attributes["execution"].len()), ("one", 16));
    assert_eq!(turn.resource["service.name"], "agentsessionsd");
    assert!(turn.resource["service.instance.id"].ends_with(&format!("/{}", node.pid())));
    assert_eq!(model.traces(), [format!("00-{TRACE}-{}-01", model_call.span_id)]);
    let everything = collector.text();
    for secret in ["contents of a message", KEY] {
        assert!(!everything.contains(secret), "{secret}: {everything}");
    }
}

#[tokio::test]
async fn the_standard_environment_names_a_collector_too() {
    let directory = tempfile::tempdir().unwrap();
    let collector = TraceReceiver::start().await;
    let builder = NodeBuilder::new(directory.path()).variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint());
    let mut node = builder.variable("OTEL_SERVICE_NAME", "sessions-of-a-test").start().await;
    traced_turn(&mut node.api().await, "echo").await;
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());
    let turn = collector.until(|spans| spans.iter().find(|span| span.name == "turn").cloned()).await;
    assert_eq!(turn.resource["service.name"], "sessions-of-a-test");
}

#[tokio::test]
async fn a_collector_that_is_gone_disturbs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut node = NodeBuilder::new(directory.path()).flag("--otlp-endpoint", "http://127.0.0.1:9").start().await;
    traced_turn(&mut node.api().await, "echo").await;
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());
}
