//! Every row and column of the table of registry.md §4, and its rules.

use support::{Api, HarnessServer, NodeProcess, kinds, text};
use tempfile::TempDir;
use tonic::{Code, Status};
use wire::{
    ApproveRequest, CreateSessionRequest, EventKind, ExecRequest, ForkRequest, GetSessionRequest, ListSessionsRequest,
    ReplayRequest, ResumeRequest, Session, SuspendRequest,
};

use crate::world::{refused, with_model};

/// A harness in one of the states of the table's columns, and a node that sees it so.
struct Column<'a> {
    state: &'static str,
    node: &'a NodeProcess,
    harness: &'static str,
    /// A session on it that has had a turn.
    idle: String,
    /// A session on it whose turn failed and can be resumed.
    pending: String,
}

/// Nodes on one journal. `here` has a model, and both `other` and `gone` in its configuration; `elsewhere` has a model and
/// `other`; `isolating` has no model.
struct Hosts {
    directory: TempDir,
    harness: HarnessServer,
    here: NodeProcess,
    elsewhere: NodeProcess,
}

impl Hosts {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let harness = HarnessServer::start("scripted").await;
        let configured = |name: &str| format!("{name}={}", harness.address());
        // It hears of nothing that is registered after its start until it is asked for it.
        let quiet = with_model(&directory).flag("--registry-refresh", "1h").flag("--harness", configured("other"));
        let here = quiet.clone().flag("--harness", configured("gone")).start().await;
        let elsewhere = quiet.start().await;
        Self { directory, harness, here, elsewhere }
    }

    async fn register(&self, name: &str) {
        self.here.operator().await.create(name, support::remote_spec(self.harness.address())).await;
    }

    async fn column<'a>(&self, state: &'static str, node: &'a NodeProcess, harness: &'static str) -> Column<'a> {
        let mut api = self.here.api().await;
        let idle = uid(&api.create(harness).await);
        api.turn(&idle, "x").await;
        let pending = uid(&api.create(harness).await);
        self.harness.set_failing(true);
        let (_, failure) = api.exec(turn(&pending, "")).await;
        assert_eq!(failure.unwrap().code(), Code::Internal);
        self.harness.set_failing(false);
        Column { state, node, harness, idle, pending }
    }
}

fn uid(session: &Session) -> String {
    session.metadata.as_ref().unwrap().uid.clone()
}

fn turn(session: &str, harness: &str) -> ExecRequest {
    ExecRequest { session: session.into(), harness: harness.into(), inputs: vec![text("x")], ..Default::default() }
}

async fn create(api: &mut Api, harness: &str) -> Result<(), Status> {
    let session = Session { harness: harness.into(), ..Session::default() };
    api.client.create_session(CreateSessionRequest { session: Some(session) }).await.map(drop)
}

async fn exec(api: &mut Api, session: &str, harness: &str) -> Result<(), Status> {
    api.exec(turn(session, harness)).await.1.map_or(Ok(()), Err)
}

async fn resume(api: &mut Api, session: &str) -> Result<(), Status> {
    api.client.resume(ResumeRequest { session: session.into(), ..Default::default() }).await.map(drop)
}

async fn suspend(api: &mut Api, session: &str) -> Result<(), Status> {
    api.client.suspend(SuspendRequest { session: session.into() }).await.map(drop)
}

async fn fork(api: &mut Api, session: &str) -> Result<(), Status> {
    api.client.fork(ForkRequest { session: session.into(), ..Default::default() }).await.map(drop)
}

/// `None` stands for success.
fn code(result: Result<(), Status>) -> Option<Code> {
    result.err().map(|status| status.code())
}

/// The rows, in the order of the table: new session (twice), existing session (four times), pending turn, override.
async fn rows(column: &Column<'_>) -> [Option<Code>; 8] {
    let mut api = column.node.api().await;
    // On every node, and static.
    let mut on_echo = column.node.api().await;
    let on_echo = uid(&on_echo.create("echo").await);
    [
        code(create(&mut api, column.harness).await),
        code(exec(&mut api, "", column.harness).await),
        code(exec(&mut api, &column.idle, "").await),
        code(resume(&mut api, &column.idle).await),
        code(suspend(&mut api, &column.idle).await),
        code(fork(&mut api, &column.idle).await),
        code(resume(&mut api, &column.pending).await),
        code(exec(&mut api, &on_echo, column.harness).await),
    ]
}

#[tokio::test]
async fn operations_by_the_state_of_the_harness() {
    const OK: Option<Code> = None;
    const FP: Option<Code> = Some(Code::FailedPrecondition);
    const IA: Option<Code> = Some(Code::InvalidArgument);
    let hosts = Hosts::start().await;
    for name in ["loaded", "retired", "isolated", "learned"] {
        hosts.register(name).await;
    }
    let isolating = support::NodeBuilder::new(hosts.directory.path()).start().await;
    let table = [
        (hosts.column("static", &hosts.here, "other").await, [OK; 8]),
        (hosts.column("ACTIVE, loaded", &hosts.here, "loaded").await, [OK, OK, OK, OK, OK, OK, OK, FP]),
        (hosts.column("RETIRED, loaded", &hosts.here, "retired").await, [FP, FP, OK, OK, OK, OK, OK, FP]),
        (hosts.column("isolated", &isolating, "isolated").await, [FP; 8]),
        // This host learns of it when it is asked for it, so the column equals that of a loaded harness.
        (hosts.column("added elsewhere", &hosts.elsewhere, "learned").await, [OK, OK, OK, OK, OK, OK, OK, FP]),
        (hosts.column("unknown", &hosts.elsewhere, "gone").await, [IA, IA, IA, IA, IA, IA, FP, IA]),
    ];
    hosts.here.operator().await.retire("retired", "").await.unwrap();
    for (column, expected) in &table {
        assert_eq!(&rows(column).await, expected, "{}", column.state);
    }
    for (column, _) in &table {
        reads_and_decisions(column).await;
    }
}

/// The last row of the table: the harness does not matter.
async fn reads_and_decisions(column: &Column<'_>) {
    let mut api = column.node.api().await;
    let session = &column.idle;
    api.client.get_session(GetSessionRequest { uid: session.clone() }).await.unwrap();
    api.client.list_sessions(ListSessionsRequest::default()).await.unwrap();
    api.client.replay(ReplayRequest { session: session.clone(), ..Default::default() }).await.unwrap();
    // There is nothing to approve, whatever the harness.
    let approve = ApproveRequest {
        session: session.clone(),
        execution_id: "none".into(),
        tool_call_id: "none".into(),
        request_seq: 1,
        approved: Some(true),
        ..ApproveRequest::default()
    };
    let status = api.client.approve(approve).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{}", column.state);
    assert!(!status.message().contains("harness"), "{}: {}", column.state, status.message());
}

#[tokio::test]
async fn a_session_on_a_registered_harness_runs_on_no_other() {
    let hosts = Hosts::start().await;
    hosts.register("h").await;
    let mut api = hosts.here.api().await;
    let session = uid(&api.create("h").await);
    for name in ["other", "unknown"] {
        let refusal = refused(exec(&mut api, &session, name).await);
        assert_eq!(refusal, Code::FailedPrecondition, "{name}: pinned before the override is resolved");
    }
    exec(&mut api, &session, "h").await.expect("its own name is no override");
    let on_static = uid(&api.create("other").await);
    exec(&mut api, &on_static, "gone").await.expect("static harnesses may stand in for one another");
}

#[tokio::test]
async fn children_inherit_a_retired_harness_and_are_no_new_selection() {
    let hosts = Hosts::start().await;
    hosts.register("h").await;
    let mut api = hosts.here.api().await;
    let parent = uid(&api.create("h").await);
    api.turn(&parent, "x").await;
    hosts.here.operator().await.retire("h", "").await.unwrap();
    let forked = api.client.fork(ForkRequest { session: parent, ..Default::default() }).await.unwrap().into_inner();
    assert_eq!(forked.children[0].harness, "h");
    api.turn(&uid(&forked.children[0]), "goes on").await;
}

#[tokio::test]
async fn retiring_never_interrupts_a_running_turn() {
    let hosts = Hosts::start().await;
    hosts.register("h").await;
    let mut api = hosts.here.api().await;
    let session = uid(&api.create("h").await);
    let retire = async {
        hosts.harness.waiting().await;
        hosts.here.operator().await.retire("h", "").await.unwrap();
        hosts.harness.release();
    };
    let (records, ()) = tokio::join!(api.turn(&session, "wait"), retire);
    assert_eq!(kinds(&records).last(), Some(&EventKind::EventEnd));
}

#[tokio::test]
async fn a_descriptor_other_than_the_registered_one_runs_nothing() {
    let hosts = Hosts::start().await;
    let spec =
        wire::HarnessSpec { descriptor_id: "somebody else".into(), ..support::remote_spec(hosts.harness.address()) };
    hosts.here.operator().await.create("h", spec).await;
    let mut api = hosts.here.api().await;
    let session = uid(&api.create("h").await);
    assert_eq!(refused(exec(&mut api, &session, "").await), Code::FailedPrecondition);
    assert!(api.log(&session).await.is_empty());
}
