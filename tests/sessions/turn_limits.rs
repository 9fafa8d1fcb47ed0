//! What a turn allows its harness: what counts as silence, and what happens at the harness when a limit is reached.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{BOUND, ModelServer, NodeBuilder, NodeProcess, kinds, serve_raw, text};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Code;
use wire::EventKind::{EventApprovalRequest, EventModelCall, EventOutput, EventToolCall};
use wire::EventKind::{EventEnd, EventError, EventExecutionStart, EventInput, EventLifecycle};
use wire::event::Body;
use wire::{ExecRequest, Mediation, Message, ModelCall};

fn request(session: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text("hello")], ..ExecRequest::default() }
}

/// A node that waits `idle` for its harness and reads two of its events, with a model that takes 5 s.
async fn node(directory: &tempfile::TempDir, idle: &str, harness: Option<String>) -> NodeProcess {
    let model = ModelServer::thinking(Duration::from_secs(5)).await;
    let builder = NodeBuilder::new(directory.path())
        .flag("--model", "m")
        .flag("--model-base-url", model.base_url())
        .flag("--turn-idle-timeout", idle)
        .flag("--max-turn-events", "2");
    let builder = match harness {
        Some(address) => builder.flag("--harness", format!("raw={address}")),
        None => builder,
    };
    builder.start().await
}

#[tokio::test]
async fn a_model_that_takes_longer_than_the_harness_may_is_no_silence_of_the_harness() {
    let directory = tempfile::tempdir().unwrap();
    let node = node(&directory, "2s", None).await;
    let mut api = node.api().await;
    let session = api.create("chat").await.metadata.unwrap().uid;
    let records = api.turn(&session, "hello").await;
    assert_eq!(kinds(&records), [EventExecutionStart, EventInput, EventModelCall, EventOutput, EventEnd]);
}

#[tokio::test]
async fn end_may_be_the_last_event_that_is_allowed() {
    let address = serve_raw(|mut talk| {
        Box::pin(async move {
            talk.say(EventOutput, Body::Message(Message::text("assistant", "x"))).await;
            talk.end("COMPLETED").await;
        })
    });
    let directory = tempfile::tempdir().unwrap();
    let node = node(&directory, "20s", Some(address.await)).await;
    let mut api = node.api().await;
    let session = api.create("raw").await.metadata.unwrap().uid;
    let records = api.turn(&session, "hello").await;
    assert_eq!(kinds(&records), [EventExecutionStart, EventInput, EventOutput, EventEnd]);
}

#[tokio::test]
async fn a_harness_that_exceeds_a_limit_has_its_stream_cancelled_and_its_turn_can_be_resumed() {
    let (ended, mut streams) = mpsc::channel(1);
    let runs = AtomicUsize::new(0);
    let address = serve_raw(move |mut talk| {
        let ended = ended.clone();
        let is_first = runs.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            if is_first {
                let heard = talk.hear().await;
                talk.cancelled().await;
                ended.send(heard).await.unwrap();
            } else {
                talk.end("COMPLETED").await;
            }
        })
    });
    let directory = tempfile::tempdir().unwrap();
    let node = node(&directory, "3s", Some(address.await)).await;
    let mut api = node.api().await;
    let session = api.create("raw").await.metadata.unwrap().uid;
    let (_, failure) = api.exec(request(&session)).await;
    assert_eq!(failure.unwrap().code(), Code::Internal);
    let heard = timeout(BOUND, streams.recv()).await.expect("the stream of the harness is cancelled");
    assert_eq!(heard, Some(None), "the harness is sent nothing more");

    api.resume(&session).await.unwrap();
    let log = api.log(&session).await;
    assert_eq!(kinds(&log), [EventExecutionStart, EventInput, EventError, EventEnd, EventLifecycle]);
    let Some(Body::Error(error)) = &log[2].event.as_ref().unwrap().body else { panic!("no ERROR") };
    assert!(error.description.contains("limits.turn_idle_timeout"), "{}", error.description);
}

#[tokio::test]
async fn a_harness_that_is_told_to_park_has_ten_seconds_whatever_else_it_is_allowed() {
    let address = serve_raw(|mut talk| {
        Box::pin(async move {
            talk.ask_tool("g", Mediation::RequiresApproval).await;
            talk.hear().await;
            talk.cancelled().await;
        })
    });
    let directory = tempfile::tempdir().unwrap();
    let node = node(&directory, "10m", Some(address.await)).await;
    let mut api = node.api().await;
    let session = api.create("raw").await.metadata.unwrap().uid;
    let (_, failure) = timeout(BOUND, api.exec(request(&session))).await.expect("the park is given up");
    let failure = failure.unwrap();
    assert_eq!((failure.code(), failure.message()), (Code::Internal, "harness failed: it did not park in time"));
    let open = [EventExecutionStart, EventInput, EventToolCall, EventApprovalRequest];
    assert_eq!(kinds(&api.log(&session).await), open);
}

#[tokio::test]
async fn a_turn_whose_harness_does_not_read_holds_up_no_other_turn_on_its_connection() {
    let runs = AtomicUsize::new(0);
    let address = serve_raw(move |mut talk| {
        let reads = runs.fetch_add(1, Ordering::SeqCst) > 0;
        Box::pin(async move {
            if reads {
                talk.end("COMPLETED").await;
            }
            let question =
                ModelCall { id: "m".into(), messages: vec![text(&"x".repeat(100_000))], ..Default::default() };
            while talk.is_heard() {
                talk.say(EventModelCall, Body::Model(question.clone())).await;
            }
        })
    });
    let directory = tempfile::tempdir().unwrap();
    let model = ModelServer::start().await;
    let node = NodeBuilder::new(directory.path())
        .flag("--model", "m")
        .flag("--model-base-url", model.base_url())
        .flag("--harness", format!("raw={}", address.await));
    let node = node.start().await;
    let mut api = node.api().await;
    let stuck = api.create("raw").await.metadata.unwrap().uid;
    let mut updates = api.client.exec(request(&stuck)).await.unwrap().into_inner();
    while let Ok(Ok(Some(_))) = timeout(Duration::from_secs(3), updates.message()).await {}

    let other = api.create("raw").await.metadata.unwrap().uid;
    let records = timeout(BOUND, api.turn(&other, "hello")).await.expect("the other turn goes on");
    assert_eq!(kinds(&records), [EventExecutionStart, EventInput, EventEnd]);
    let refusal = api.resume(&stuck).await.unwrap_err();
    assert_eq!(refusal.code(), Code::Aborted, "the first turn still waits");
}
