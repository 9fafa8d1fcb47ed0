//! Every way in which a harness can misbehave (execution.md §6.1, and §9.2 for the park): it fails its own turn, with the
//! named code and within a bound, and harms no other session.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use support::{Acting, Api, BOUND, HarnessServer, ModelServer, NodeBuilder, NodeProcess, Talk};
use support::{cut_after, kinds, serve_raw, text};
use tokio::time::timeout;
use tonic::Code;
use wire::EventKind::{self, EventApprovalRequest, EventEnd, EventError, EventExecutionStart, EventInput};
use wire::EventKind::{EventModelCall, EventOutput, EventToolCall};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{
    ApprovalRef, ApprovalRequest, ApprovalResult, Event, ExecRequest, ExecutionStart, Lifecycle, Mediation, Message,
    ModelCall, ToolCall,
};

/// What the node of these tests allows: a moment that a busy machine does not take for silence, and few events.
const IDLE: &str = "8s";
const EVENTS: usize = 60;

/// One way to behave, and what comes of it.
struct Row {
    /// Also the name under which the node knows the harness.
    name: &'static str,
    act: Arc<dyn Fn(Talk) -> Acting + Send + Sync>,
    code: Code,
    /// Part of the message that the caller gets.
    says: &'static str,
    /// The kinds of records after START and INPUT, in the order in which they first appear.
    records: &'static [EventKind],
    /// After how many bytes the connection breaks.
    cut: Option<u64>,
}

impl Row {
    fn new(name: &'static str, act: impl Fn(Talk) -> Acting + Send + Sync + 'static) -> Self {
        Self { name, act: Arc::new(act), code: Code::Ok, says: "", records: &[EventEnd], cut: None }
    }

    /// The turn fails, and ERROR is all that it leaves.
    fn fails(self, says: &'static str) -> Self {
        self.fails_after(says, &[EventError])
    }

    fn fails_after(self, says: &'static str, records: &'static [EventKind]) -> Self {
        Self { code: Code::Internal, says, records, ..self }
    }

    fn is_gated(&self) -> bool {
        self.records.contains(&EventApprovalRequest)
    }

    async fn serve(&self) -> String {
        let act = Arc::clone(&self.act);
        let address = serve_raw(move |talk| act(talk)).await;
        match self.cut {
            Some(bytes) => cut_after(bytes, address).await,
            None => address,
        }
    }
}

/// Sends an event, then END.
fn sends(kind: EventKind, body: impl Into<Option<Body>>) -> impl Fn(Talk) -> Acting + Send + Sync {
    let event = Event::new(kind, body);
    move |mut talk| {
        let event = event.clone().of_execution(&talk.execution);
        Box::pin(async move {
            talk.say_event(event).await;
            talk.end("COMPLETED").await;
            talk.cancelled().await;
        })
    }
}

/// Asks for a gated call; `act` is what it does when it is told to park.
fn gated<F>(act: F) -> impl Fn(Talk) -> Acting + Send + Sync
where
    F: Fn(Talk, ApprovalRef) -> Acting + Clone + Send + Sync + 'static,
{
    move |mut talk| {
        let act = act.clone();
        Box::pin(async move {
            talk.ask_tool("g", Mediation::RequiresApproval).await;
            if let Some(Frame::Park(reference)) = talk.hear().await {
                act(talk, reference).await;
            }
        })
    }
}

fn output(text: &str) -> Body {
    Body::Message(Message::text("assistant", text))
}

/// "execution_id of every event must equal the turn's", and payloads and kinds that no harness may send.
fn events_that_fail() -> Vec<Row> {
    vec![
        Row::new("another-execution", |mut talk| {
            Box::pin(async move {
                talk.say_event(Event::new(EventOutput, output("x")).of_execution("another")).await;
                talk.cancelled().await;
            })
        })
        .fails("event of another execution"),
        Row::new("no-execution", |mut talk| {
            Box::pin(async move {
                talk.say_event(Event::new(EventOutput, output("x"))).await;
                talk.cancelled().await;
            })
        })
        .fails("event of another execution"),
        Row::new("tool-call-without-payload", sends(EventToolCall, None)).fails("TOOL_CALL without payload"),
        Row::new("model-call-without-payload", sends(EventModelCall, None)).fails("MODEL_CALL without payload"),
        Row::new("payload-of-another-kind", sends(EventToolCall, output("x"))).fails("TOOL_CALL without payload"),
        Row::new("approval-request", sends(EventApprovalRequest, Body::Approval(ApprovalRequest::default())))
            .fails("approval record"),
        Row::new(
            "approval-result",
            sends(EventKind::EventApprovalResult, Body::ApprovalResult(ApprovalResult::default())),
        )
        .fails("approval record"),
        Row::new("execution-start", sends(EventExecutionStart, Body::ExecutionStart(ExecutionStart::default())))
            .fails("EXECUTION_START"),
        Row::new("parked-without-park", sends(EventKind::EventParked, Body::Parked(ApprovalRef::default())))
            .fails("not told to park"),
        Row::new("unkeyed-tool-call", sends(EventToolCall, Body::Tool(unkeyed()))).fails("idempotency_key"),
        Row::new("error-of-a-mediated-effect", |mut talk| {
            Box::pin(async move {
                talk.ask_tool("t", Mediation::ControllerMediated).await;
                talk.cancelled().await;
            })
        })
        .fails_after("executor is configured", &[EventToolCall, EventError]),
    ]
}

fn unkeyed() -> ToolCall {
    ToolCall { id: "t".into(), mediation: Mediation::ControllerMediated.into(), ..ToolCall::default() }
}

/// What a host ignores.
fn events_that_are_ignored() -> Vec<Row> {
    vec![
        Row::new("tool-result-without-payload", sends(EventKind::EventToolResult, None)),
        Row::new("usage-without-payload", sends(EventKind::EventUsage, None)),
        Row::new("output-without-message", sends(EventOutput, None)),
        Row::new("input", sends(EventInput, output("x"))),
        Row::new("lifecycle", sends(EventKind::EventLifecycle, Body::Lifecycle(Lifecycle::default()))),
        Row::new("error", sends(EventError, Body::Error(wire::Error::default()))),
        Row::new("unspecified-kind", sends(EventKind::Unspecified, output("x"))),
        Row::new("unknown-kind", |mut talk| {
            Box::pin(async move {
                let execution_id = talk.execution.clone();
                talk.say_event(Event { execution_id, kind: 99, ..Event::default() }).await;
                talk.end("COMPLETED").await;
            })
        }),
    ]
}

/// How a stream may end.
fn ends() -> Vec<Row> {
    vec![
        Row::new("events-after-end", |mut talk| {
            Box::pin(async move {
                talk.end("COMPLETED").await;
                talk.say(EventOutput, output("late")).await;
                talk.say(EventExecutionStart, Body::ExecutionStart(ExecutionStart::default())).await;
                talk.cancelled().await;
            })
        }),
        Row::new("closes-without-end", |talk| Box::pin(async move { drop(talk) })),
        Row::new("end-of-another-state", |mut talk| Box::pin(async move { talk.end("DONE").await }))
            .fails("ended the turn with state \"DONE\""),
        Row {
            cut: Some(500_000),
            ..Row::new("dies-mid-frame", |mut talk| {
                Box::pin(async move {
                    talk.say(EventOutput, output(&"x".repeat(1_000_000))).await;
                    talk.cancelled().await;
                })
            })
            .fails("the stream of the harness broke")
        },
    ]
}

/// What only a bound ends.
fn endless() -> Vec<Row> {
    vec![
        Row::new("never-answers", |talk| Box::pin(async move { talk.cancelled().await }))
            .fails("it sent nothing for 8s; limits.turn_idle_timeout"),
        Row::new("silent-after-an-answer", |mut talk| {
            Box::pin(async move {
                talk.ask_model().await;
                talk.cancelled().await;
            })
        })
        .fails_after("it sent nothing for 8s; limits.turn_idle_timeout", &[EventModelCall, EventOutput, EventError]),
        Row::new("never-reads", |mut talk| {
            Box::pin(async move {
                let messages = vec![text(&"x".repeat(100_000))];
                let call = ModelCall { id: "m".into(), messages, ..ModelCall::default() };
                while talk.is_heard() {
                    talk.say(EventModelCall, Body::Model(call.clone())).await;
                }
            })
        })
        .fails_after("it read nothing for 8s; limits.turn_idle_timeout", &[EventModelCall, EventOutput, EventError]),
        Row::new("endless-ignored-events", |mut talk| {
            Box::pin(async move {
                while talk.is_heard() {
                    talk.say(EventInput, output("x")).await;
                }
            })
        })
        .fails("it sent more than 60 events; limits.max_turn_events"),
        Row::new("endless-outputs", |mut talk| {
            Box::pin(async move {
                while talk.is_heard() {
                    talk.say(EventOutput, output("x")).await;
                }
            })
        })
        .fails_after("it sent more than 60 events; limits.max_turn_events", &[EventOutput, EventError]),
    ]
}

/// What a harness may do instead of parking: the gate stays open, without ERROR and without SUSPEND (execution.md §9.2).
fn parks() -> Vec<Row> {
    const OPEN: &[EventKind] = &[EventToolCall, EventApprovalRequest];
    vec![
        Row::new("park-not-acknowledged", gated(|talk, _| Box::pin(async move { talk.cancelled().await })))
            .fails_after("it sent nothing for 8s; limits.turn_idle_timeout", OPEN),
        Row::new("park-answered-by-closing", gated(|talk, _| Box::pin(async move { drop(talk) })))
            .fails_after("it ended its stream without PARKED", OPEN),
        Row::new("park-answered-by-end", gated(|mut talk, _| Box::pin(async move { talk.end("COMPLETED").await })))
            .fails_after("it answered with something else than PARKED", OPEN),
        Row::new(
            "parked-with-another-tuple",
            gated(|mut talk, park| {
                Box::pin(async move { talk.park(ApprovalRef { request_seq: park.request_seq + 1, ..park }).await })
            }),
        )
        .fails_after("it answered with something else than PARKED", OPEN),
        Row::new(
            "parked-in-another-execution",
            gated(|mut talk, park| {
                Box::pin(async move {
                    let parked = Event::new(EventKind::EventParked, Body::Parked(park));
                    talk.say_event(parked.of_execution("another")).await;
                })
            }),
        )
        .fails_after("it answered with something else than PARKED", OPEN),
        Row::new(
            "end-after-parked",
            gated(|mut talk, park| {
                Box::pin(async move {
                    talk.park(park).await;
                    talk.end("COMPLETED").await;
                })
            }),
        )
        .fails_after("it went on after PARKED", OPEN),
        Row::new(
            "parked-and-not-closed",
            gated(|mut talk, park| {
                Box::pin(async move {
                    talk.park(park).await;
                    talk.cancelled().await;
                })
            }),
        )
        .fails_after("it sent nothing for 8s; limits.turn_idle_timeout", OPEN),
    ]
}

/// A node with these harnesses, and one more called `good`, which behaves.
async fn node(directory: &tempfile::TempDir, rows: &[Row], idle: &str) -> NodeProcess {
    let good = HarnessServer::start("good").await;
    let mut builder = NodeBuilder::new(directory.path())
        .flag("--model", "m")
        .flag("--model-base-url", ModelServer::start().await.base_url())
        .flag("--turn-idle-timeout", idle)
        .flag("--max-turn-events", EVENTS.to_string())
        .flag("--harness", format!("good={}", good.address()));
    for row in rows {
        builder = builder.flag("--harness", format!("{}={}", row.name, row.serve().await));
    }
    builder.start().await
}

fn request(session: &str, harness: &str) -> ExecRequest {
    let inputs = vec![text("hello")];
    ExecRequest { session: session.into(), harness: harness.into(), inputs, ..ExecRequest::default() }
}

/// Runs the turn of a row and holds it against what the row says.
async fn check(mut api: Api, row: &Row) {
    let name = row.name;
    let session = api.create(name).await.metadata.unwrap().uid;
    let turn = timeout(BOUND, api.exec(request(&session, ""))).await;
    let (_, failure) = turn.unwrap_or_else(|_| panic!("{name}: the turn goes on"));
    let (code, message) = failure.map_or((Code::Ok, String::new()), |status| (status.code(), status.message().into()));
    assert_eq!(code, row.code, "{name}: {message}");
    assert!(message.contains(row.says), "{name}: {message}");

    let mut records = kinds(&api.log(&session).await).split_off(2);
    let mut seen = Vec::new();
    records.retain(|kind| {
        !seen.contains(kind) && {
            seen.push(*kind);
            true
        }
    });
    assert_eq!(records, row.records, "{name}");

    let (_, refusal) = api.exec(request(&session, "echo")).await;
    let expected = row.is_gated().then_some(Code::FailedPrecondition);
    assert_eq!(refusal.map(|status| status.code()), expected, "{name}: the session is free again");
}

/// Runs turns on two harnesses that behave, one after the other; returns how many.
async fn bystander(mut api: Api, turns: &mut usize) {
    let sessions = [api.create("echo").await, api.create("good").await].map(|session| session.metadata.unwrap().uid);
    loop {
        for session in &sessions {
            let records = timeout(BOUND, api.turn(session, "hello")).await.expect("turns of others go on");
            assert_eq!(kinds(&records).last(), Some(&EventEnd));
            *turns += 1;
        }
    }
}

/// Runs the turns of all rows at once, with the turns of others beside them.
async fn check_all(node: &NodeProcess, rows: &[Row]) {
    let api = node.api().await;
    let mut turns = 0;
    tokio::select! {
        _ = join_all(rows.iter().map(|row| check(api.clone(), row))) => {}
        () = bystander(node.api().await, &mut turns) => {}
    }
    assert!(turns > 1, "only {turns} turns of others ended meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_misbehaviour_fails_its_own_turn_as_the_contract_names_it_and_no_other() {
    let rows: Vec<Row> =
        [events_that_fail(), events_that_are_ignored(), ends(), endless(), parks()].into_iter().flatten().collect();
    let directory = tempfile::tempdir().unwrap();
    let node = node(&directory, &rows, IDLE).await;
    check_all(&node, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn event_of_100_mb_is_refused_without_being_held() {
    const ALLOWED: u64 = 32 << 20;
    let large = Row::new("large", |mut talk| {
        Box::pin(async move {
            talk.say(EventOutput, output(&"x".repeat(100_000_000))).await;
            talk.cancelled().await;
        })
    });
    let rows = [large.fails("OutOfRange")];
    let directory = tempfile::tempdir().unwrap();
    // To make such an event takes its time.
    let node = node(&directory, &rows, "25s").await;
    let session = node.api().await.create("good").await.metadata.unwrap().uid;
    node.api().await.turn(&session, "hello").await;

    let (before, mut most) = (node.resident_bytes(), 0);
    let watch = async {
        loop {
            most = most.max(node.resident_bytes());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = check_all(&node, &rows) => {}
        () = watch => {}
    }
    assert!(most > 0 && most < before + ALLOWED, "{before} bytes became {most}");
}
