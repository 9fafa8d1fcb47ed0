//! Cancel: a turn ends for good, whether it runs here, runs elsewhere, was interrupted or waits for an approval.

use std::path::Path;
use std::time::Duration;

use sdk::{Failure, Harness, Sink, Turn};
use support::{
    Api, HarnessServer, NodeBuilder, NodeProcess, TOOL, Talk, kinds, record, serve_harness, serve_raw, text,
};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::Instant;
use tonic::{Code, Status, Streaming};
use wire::EventKind::{self, EventEnd, EventError, EventExecutionStart, EventInput, EventLifecycle, EventOutput};
use wire::EventKind::{EventApprovalRequest, EventApprovalResult, EventToolCall, EventToolResult};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{
    ApproveRequest, CancelRequest, ExecRequest, ExecState, ExecUpdate, HarnessDescriptor, ListSessionsRequest,
    LogRecord, Message, Session, ToolCall,
};

fn request(session: &str, execution_id: &str) -> CancelRequest {
    CancelRequest { session: session.into(), execution_id: execution_id.into(), reason: "enough".into() }
}

async fn cancel(api: &mut Api, session: &str, execution_id: &str) -> Result<Session, Status> {
    api.client.cancel(request(session, execution_id)).await.map(tonic::Response::into_inner)
}

fn exec(session: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text("go")], ..ExecRequest::default() }
}

/// What a harness does that was told to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Obeying,
    Ignoring,
}

/// Says something, then waits, and tells the reason of every cancel frame. Returns its address.
async fn waiting_harness(when: When, heard: Sender<String>) -> String {
    serve_raw(move |mut talk: Talk| {
        let heard = heard.clone();
        Box::pin(async move {
            talk.say(EventOutput, Body::Message(Message::text("assistant", "begun"))).await;
            while let Some(frame) = talk.hear().await {
                let Frame::Cancel(cancel) = frame else { continue };
                heard.send(cancel.reason).await.unwrap();
                if when == When::Obeying {
                    return talk.end("FAILED").await;
                }
            }
        })
    })
    .await
}

/// A node with a turn at work on a harness that waits.
struct Live {
    node: NodeProcess,
    builder: NodeBuilder,
    session: String,
    execution: String,
    updates: Streaming<ExecUpdate>,
    heard: Receiver<String>,
}

impl Live {
    async fn begin(directory: &Path, when: When) -> Self {
        let (sender, heard) = mpsc::channel(4);
        let address = waiting_harness(when, sender).await;
        let builder = NodeBuilder::new(directory).harness("waiting", &address).switch("--enable-cancel");
        let node = builder.start().await;
        let mut api = node.api().await;
        let session = api.create("waiting").await.metadata.unwrap().uid;
        let mut updates = api.client.exec(exec(&session)).await.unwrap().into_inner();
        let mut records = Vec::new();
        while records.len() < 3 {
            records.extend(updates.message().await.unwrap().and_then(record));
        }
        let execution = records[0].event.as_ref().unwrap().execution_id.clone();
        Self { node, builder, session, execution, updates, heard }
    }

    /// What the turn still sends, and how it ends.
    async fn rest(&mut self) -> (Vec<EventKind>, Code) {
        let mut records = Vec::new();
        loop {
            match self.updates.message().await {
                Ok(Some(update)) => records.extend(record(update)),
                Ok(None) => return (kinds(&records), Code::Ok),
                Err(status) => return (kinds(&records), status.code()),
            }
        }
    }
}

const BEGUN: [EventKind; 3] = [EventExecutionStart, EventInput, EventOutput];

#[tokio::test]
async fn a_host_that_does_not_grant_it_answers_unimplemented() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    for session in [session.as_str(), "", "sess-unknown"] {
        let refused = cancel(&mut api, session, "").await.unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::Unimplemented, "Cancel is not supported by this host"));
    }
}

#[tokio::test]
async fn a_running_turn_is_told_to_stop_and_ends_for_good() {
    let directory = tempfile::tempdir().unwrap();
    let mut live = Live::begin(directory.path(), When::Obeying).await;
    let mut api = live.node.api().await;
    let other = cancel(&mut api, &live.session, "0123456789abcdef").await.unwrap_err();
    assert_eq!(other.code(), Code::FailedPrecondition, "another turn is not this one");

    let canceled = cancel(&mut api, &live.session, &live.execution).await.unwrap();
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    assert_eq!(live.heard.recv().await.as_deref(), Some("enough"));
    assert_eq!(live.rest().await, (vec![EventLifecycle, EventEnd], Code::Cancelled));
    let log = api.log(&live.session).await;
    assert_eq!(kinds(&log), [&BEGUN[..], &[EventLifecycle, EventEnd]].concat());
    assert!(log.iter().all(|record| record.fence == 1), "under the turn's own fence");
    assert_end(&log[4], &live.execution);

    // Again is no error, and Resume has nothing to run.
    assert_eq!(cancel(&mut api, &live.session, &live.execution).await.unwrap(), canceled);
    api.resume(&live.session).await.unwrap();
    assert_eq!(kinds(&api.log(&live.session).await[5..]), [EventLifecycle]);
    assert!(live.heard.try_recv().is_err());
}

fn assert_end(record: &LogRecord, execution: &str) {
    let event = record.event.as_ref().unwrap();
    let Some(Body::End(end)) = &event.body else { panic!("no END: {event:?}") };
    let reason = end.error.as_ref().map(|error| error.description.as_str());
    assert_eq!((&*event.execution_id, &*end.state, reason), (execution, "CANCELED", Some("enough")));
}

#[tokio::test]
async fn a_harness_that_does_not_stop_is_cut_off_within_a_bound() {
    let directory = tempfile::tempdir().unwrap();
    let mut live = Live::begin(directory.path(), When::Ignoring).await;
    let mut api = live.node.api().await;
    let asked = Instant::now();
    let canceled = cancel(&mut api, &live.session, "").await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    assert_eq!(live.rest().await, (vec![EventLifecycle, EventEnd], Code::Cancelled));
}

#[tokio::test]
async fn a_turn_that_runs_on_another_node_is_ended_by_the_records_and_fenced_out() {
    let directory = tempfile::tempdir().unwrap();
    let mut live = Live::begin(directory.path(), When::Obeying).await;
    let elsewhere = live.builder.start().await;
    let mut api = elsewhere.api().await;
    let canceled = cancel(&mut api, &live.session, "").await.unwrap();
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);

    // The node that runs it learns of it when it would append.
    let here = cancel(&mut live.node.api().await, &live.session, &live.execution).await.unwrap();
    assert_eq!(here.exec_state(), ExecState::ExecCanceled);
    assert_eq!(live.rest().await.0, []);
    let log = api.log(&live.session).await;
    assert_eq!(kinds(&log), [&BEGUN[..], &[EventLifecycle, EventEnd]].concat());
    assert_eq!(log[4].fence, 2);
}

#[tokio::test]
async fn an_interrupted_turn_is_finished_for_good_and_a_finished_one_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let address = serve_raw(|mut talk: Talk| Box::pin(async move { talk.end("FAILED").await })).await;
    let done = HarnessServer::start("done").await;
    let builder = NodeBuilder::new(directory.path()).harness("failing", &address).switch("--enable-cancel");
    let node = builder.flag("--harness", format!("done={}", done.address())).start().await;
    let mut api = node.api().await;
    let session = api.create("failing").await.metadata.unwrap().uid;
    let idle = cancel(&mut api, &session, "").await.unwrap();
    assert_eq!((idle.last_seq, idle.exec_state()), (0, ExecState::ExecPending));

    let (updates, _) = api.exec(exec(&session)).await;
    let start = updates.into_iter().find_map(record).unwrap();
    let execution = start.event.unwrap().execution_id;
    let canceled = cancel(&mut api, &session, "").await.unwrap();
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    let log = api.log(&session).await;
    assert_eq!(kinds(&log), [EventExecutionStart, EventInput, EventError, EventLifecycle, EventEnd]);
    assert_end(&log[4], &execution);
    assert_eq!(log[4].fence, 2);
    assert_eq!(api.resume(&session).await.unwrap().last_seq, 6);
    assert_eq!(kinds(&api.log(&session).await[5..]), [EventLifecycle]);

    let other = api.create("done").await.metadata.unwrap().uid;
    let turn = api.turn(&other, "hello").await;
    let left = cancel(&mut api, &other, "").await.unwrap();
    assert_eq!((left.last_seq, left.exec_state()), (4, ExecState::ExecCompleted));
    let named = cancel(&mut api, &other, &turn[0].event.as_ref().unwrap().execution_id).await.unwrap_err();
    assert_eq!(named.code(), Code::FailedPrecondition);
    assert_eq!(cancel(&mut api, "", "").await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(cancel(&mut api, "sess-unknown", "").await.unwrap_err().code(), Code::NotFound);
}

/// Asks for one approval.
struct Gated;

#[sdk::async_trait]
impl Harness for Gated {
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor { id: "gated".into(), version: "1".into(), ..HarnessDescriptor::default() }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let call = ToolCall {
            id: "call".into(),
            tool: TOOL.into(),
            idempotency_key: format!("{}/1", turn.execution()),
            ..ToolCall::default()
        };
        sink.gated(call).await?;
        Ok(())
    }
}

async fn pending(api: &mut Api) -> usize {
    let request = ListSessionsRequest { pending_only: true, ..ListSessionsRequest::default() };
    api.client.list_sessions(request).await.unwrap().into_inner().sessions.len()
}

#[tokio::test]
async fn the_approval_that_a_canceled_turn_waits_for_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let address = serve_harness(Gated).await;
    let builder = NodeBuilder::new(directory.path()).harness("gated", &address).switch("--enable-cancel");
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("gated").await.metadata.unwrap().uid;
    api.turn(&session, "go").await;
    let gate = api.get(&session).await.unwrap().pending_approval.expect("the turn waits");
    assert_eq!(pending(&mut api).await, 1);
    node.kill();

    let node = builder.start().await;
    let mut api = node.api().await;
    let canceled = cancel(&mut api, &session, &gate.execution_id).await.unwrap();
    assert_eq!((canceled.exec_state(), canceled.pending_approval), (ExecState::ExecCanceled, None));
    assert_eq!(pending(&mut api).await, 0);
    let log = api.log(&session).await;
    let parked = [EventExecutionStart, EventInput, EventToolCall, EventApprovalRequest, EventLifecycle];
    let closed = [EventLifecycle, EventApprovalResult, EventToolResult, EventEnd];
    assert_eq!(kinds(&log), [&parked[..], &closed].concat());

    for approved in [true, false] {
        let decision = ApproveRequest {
            session: session.clone(),
            execution_id: gate.execution_id.clone(),
            tool_call_id: gate.tool_call_id.clone(),
            request_seq: gate.request_seq,
            approved: Some(approved),
            reason: "enough".into(),
            identity: None,
        };
        let refused = api.client.approve(decision).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "approved: {approved}");
    }
    // The evidence is sound: a new turn begins, and parks in its turn.
    api.resume(&session).await.unwrap();
    api.turn(&session, "again").await;
    assert_eq!(pending(&mut api).await, 1);
}
