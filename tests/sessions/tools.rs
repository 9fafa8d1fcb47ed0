//! Tools that the host runs (execution.md §5.3): an executor over HTTP, a harness of its own, and crashes between.

use std::path::Path;

use sdk::{Failure, Harness, Sink, Turn};
use support::{Failpoint, NodeBuilder, TOOL, ToolServer, kinds, serve_harness, text};
use tonic::Code;
use wire::EventKind::{self, EventEnd, EventError, EventExecutionStart, EventInput, EventLifecycle};
use wire::EventKind::{EventOutput, EventToolCall, EventToolResult};
use wire::{ExecRequest, HarnessDescriptor, Message, ToolCall};

/// The records of an uninterrupted turn, each but the first two in a commit of its own.
const TURN: [EventKind; 6] = [EventExecutionStart, EventInput, EventToolCall, EventToolResult, EventOutput, EventEnd];

/// Calls the tool that the input names, and says what came of it.
struct Caller;

#[sdk::async_trait]
impl Harness for Caller {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "caller".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let tool = turn.inputs().iter().map(Message::text_content).collect();
        let result = sink
            .tool(ToolCall {
                id: "call".into(),
                tool,
                idempotency_key: format!("{}/1", turn.execution()),
                ..ToolCall::default()
            })
            .await?;
        sink.output(Message { role: "assistant".into(), parts: result.content }).await?;
        Ok(())
    }
}

/// A node that serves [`Caller`], and runs tools where `server` is given.
async fn node(directory: &Path, server: Option<&ToolServer>) -> NodeBuilder {
    let builder = NodeBuilder::new(directory).harness("caller", &serve_harness(Caller).await);
    match server {
        Some(server) => server.node(builder, directory),
        None => builder,
    }
}

fn request(session: &str, tool: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text(tool)], ..ExecRequest::default() }
}

#[tokio::test]
async fn a_tool_is_run_once_and_its_result_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let server = ToolServer::start().await;
    let node = node(directory.path(), Some(&server)).await.start().await;
    let mut api = node.api().await;
    let session = api.create("caller").await.metadata.unwrap().uid;
    let records = api.turn(&session, TOOL).await;
    assert_eq!(kinds(&records), TURN);
    let execution = &records[0].event.as_ref().unwrap().execution_id;
    assert_eq!(server.calls(), [(session.clone(), format!("{execution}/1"))]);
    let output = records[4].event.as_ref().unwrap();
    assert!(matches!(&output.body, Some(wire::event::Body::Message(message)) if message.text_content() == "charged"));
}

#[tokio::test]
async fn an_executor_that_fails_interrupts_the_turn_and_resume_calls_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let server = ToolServer::start().await;
    let node = node(directory.path(), Some(&server)).await.start().await;
    let mut api = node.api().await;
    let session = api.create("caller").await.metadata.unwrap().uid;
    server.fail(1);
    let (_, failure) = api.exec(request(&session, TOOL)).await;
    assert_eq!(failure.unwrap().code(), Code::Internal);
    let interrupted = [EventExecutionStart, EventInput, EventToolCall, EventError];
    assert_eq!(kinds(&api.log(&session).await), interrupted);

    api.resume(&session).await.unwrap();
    let rest = [EventToolResult, EventOutput, EventEnd, EventLifecycle];
    assert_eq!(kinds(&api.log(&session).await), [&interrupted[..], &rest].concat());
    let calls = server.calls();
    assert_eq!((calls.len(), &calls[0]), (2, &calls[1]));
}

#[tokio::test]
async fn a_tool_that_no_executor_runs_fails_after_its_call_is_recorded() {
    let server = ToolServer::start().await;
    for executors in [None, Some(&server)] {
        let directory = tempfile::tempdir().unwrap();
        let node = node(directory.path(), executors).await.start().await;
        let mut api = node.api().await;
        let session = api.create("caller").await.metadata.unwrap().uid;
        let (_, failure) = api.exec(request(&session, "another")).await;
        assert_eq!(failure.unwrap().code(), Code::Internal);
        let expected = [EventExecutionStart, EventInput, EventToolCall, EventError];
        assert_eq!(kinds(&api.log(&session).await), expected);
    }
    assert!(server.calls().is_empty());
}

/// Cuts a turn at `failpoint`, resumes it, and returns the calls before and after.
async fn cut_and_resume(failpoint: Failpoint) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let server = ToolServer::start().await;
    let builder = node(directory.path(), Some(&server)).await;
    let session = {
        let node = builder.start().await;
        node.api().await.create("caller").await.metadata.unwrap().uid
    };
    let dying = builder.clone().failpoint(failpoint).start().await;
    let (_, failure) = dying.api().await.exec(request(&session, TOOL)).await;
    assert!(failure.is_some(), "the node survived {failpoint:?}");
    let before = server.calls().len();

    let node = builder.start().await;
    let mut api = node.api().await;
    api.resume(&session).await.unwrap();
    assert_eq!(kinds(&api.log(&session).await), [&TURN[..], &[EventLifecycle]].concat(), "{failpoint:?}");
    let mut calls = server.calls();
    let after = calls.len();
    calls.dedup();
    assert_eq!((calls.len(), server.effects()), (1, 1), "one key, one effect: {failpoint:?}");
    (before, after)
}

#[tokio::test]
async fn a_crash_around_the_call_repeats_it_with_the_same_key_unless_its_result_is_recorded() {
    // Commits: {START, INPUT}, {TOOL_CALL}, {TOOL_RESULT}, {OUTPUT}, {END}.
    let cuts = [
        (Failpoint::BeforeCommit(2), (0, 1)),
        (Failpoint::AfterCommit(2), (0, 1)),
        (Failpoint::BeforeCommit(3), (1, 2)),
        (Failpoint::AfterCommit(3), (1, 1)),
        (Failpoint::BeforeCommit(5), (1, 1)),
    ];
    for (failpoint, calls) in cuts {
        assert_eq!(cut_and_resume(failpoint).await, calls, "{failpoint:?}");
    }
}
