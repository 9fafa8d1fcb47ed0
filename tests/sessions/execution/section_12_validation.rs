//! Validation per RPC (execution.md §12), beside services/agentsessionsd/tests/process/bad_input.rs, which has the rows of
//! requests that are wrong by themselves: empty and unknown sessions, page tokens, forks, approvals, what is not offered.

use support::{HarnessServer, NodeBuilder, remote_spec};
use tonic::Code::{self, FailedPrecondition, InvalidArgument, NotFound, Ok as Fine};
use wire::{CreateSessionRequest, ExecRequest, HarnessSpec, ListSessionsRequest, Session};

use super::world::{GONE, HARNESS, World, code, turn, uid};

async fn create(node: &support::NodeProcess, harness: &str) -> Code {
    let session = Session { harness: harness.into(), ..Session::default() };
    let request = CreateSessionRequest { session: Some(session) };
    code(node.api().await.client.create_session(request).await)
}

async fn auto_create(node: &support::NodeProcess, harness: &str) -> (usize, Code) {
    let request = ExecRequest { harness: harness.into(), ..turn("") };
    let (updates, failure) = node.api().await.exec(request).await;
    (updates.len(), failure.map_or(Code::Ok, |status| status.code()))
}

/// CreateSession, and Exec that creates under the same rules before any frame
#[tokio::test]
async fn creating_a_session() {
    let world = World::new().await;
    for name in ["retired", "isolated"] {
        world.register(name, remote_spec(world.harness.address())).await;
    }
    world.node.operator().await.retire("retired", "").await.unwrap();
    let isolating = NodeBuilder::new(world.directory.path()).start().await;
    let table = [
        ("unknown", &world.node, GONE, InvalidArgument),
        ("retired", &world.node, "retired", FailedPrecondition),
        ("isolated", &isolating, "isolated", FailedPrecondition),
        ("served", &world.node, HARNESS, Fine),
    ];
    for (row, node, harness, expected) in table {
        assert_eq!(create(node, harness).await, expected, "{row}, CreateSession");
        if expected != Fine {
            assert_eq!(auto_create(node, harness).await, (0, expected), "{row}, Exec");
        }
    }
}

/// Exec on an unknown uid
#[tokio::test]
async fn an_exec_on_an_unknown_session() {
    let world = World::new().await;
    for (named, expected) in [("", NotFound), (HARNESS, NotFound), (GONE, InvalidArgument)] {
        let request = ExecRequest { harness: named.into(), ..turn("sess-000000000000000000000000") };
        assert_eq!(world.exec(request).await.code, expected, "{named:?}");
    }
}

/// The last paragraph: no new session once RetireHarness has returned, on any host
#[tokio::test]
async fn a_retired_harness_takes_no_session_on_any_host() {
    let world = World::new().await;
    let elsewhere = world.builder.start().await;
    for round in 0..support::rounds(50) {
        let name = format!("harness-{round}");
        world.register(&name, remote_spec(world.harness.address())).await;
        assert_eq!(create(&elsewhere, &name).await, Fine, "served everywhere");
        world.node.operator().await.retire(&name, "").await.unwrap();
        for node in [&world.node, &elsewhere] {
            assert_eq!(create(node, &name).await, FailedPrecondition, "{name}");
            assert_eq!(auto_create(node, &name).await, (0, FailedPrecondition), "{name}");
        }
    }
}

/// The last sentence
#[tokio::test]
async fn a_session_that_exec_created_stays_when_admission_fails() {
    let world = World::new().await;
    let other = HarnessServer::start("another").await;
    let spec = HarnessSpec { descriptor_id: "scripted".into(), ..remote_spec(other.address()) };
    world.register("mistaken", spec).await;
    let executed = world.exec(ExecRequest { harness: "mistaken".into(), ..turn("") }).await;
    assert_eq!((executed.code, executed.frames.as_str()), (FailedPrecondition, "Session"));
    let created = world.get(&uid(&executed.sessions[0])).await;
    assert_eq!((created.last_seq, created.harness.as_str()), (0, "mistaken"));
    let listed = world.api().client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed.sessions, [created]);
}
