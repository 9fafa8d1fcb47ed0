//! Requests that no handler should see, and how many calls may run at once.

use bytes::Bytes;
use support::{NodeBuilder, text};
use tonic::{Code, Request};
use wire::{ExecRequest, GetSessionRequest};

use crate::gate::{Gate, LiveTurn};
use crate::operations::{channel, health};
use crate::raw::send;

const GET: &str = "/agentsessions.v1.Sessions/GetSession";
const EXEC: &str = "/agentsessions.v1.Sessions/Exec";

#[tokio::test]
async fn bytes_that_are_no_message_are_the_callers_mistake() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let cases: [(&str, &[u8]); 4] = [
        ("a tag that breaks off", b"\x80"),
        ("a length beyond the end", b"\x0a\x20abc"),
        ("a text that is not UTF-8", b"\x0a\x02\xff\xfe"),
        ("a wire type that does not exist", b"\x0f"),
    ];
    for (what, bytes) in cases {
        for rpc in [GET, EXEC] {
            let status = send(channel(&node).await, rpc, Bytes::from_static(bytes)).await.unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument, "{what}: {}", status.message());
        }
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_and_one_under_it_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).flag("--max-message-size", "1MiB").start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    let exec = |size: usize| ExecRequest {
        session: session.clone(),
        inputs: vec![text(&"x".repeat(size))],
        ..ExecRequest::default()
    };
    let refused = api.exec(exec(1 << 20)).await.1.unwrap();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{}", refused.message());
    assert!(refused.message().contains("1048576"), "{}", refused.message());
    assert!(api.exec(exec((1 << 20) - 200)).await.1.is_none());
    assert_eq!(api.log(&session).await.len(), 5);
}

#[tokio::test]
async fn rpcs_and_services_that_do_not_exist_are_unimplemented() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    for rpc in [
        "/agentsessions.v1.Sessions/NoSuchRpc",
        "/agentsessions.v1.NoSuchService/Get",
        "/agentsessions.v1.HarnessRegistry/ListHarnesses",
    ] {
        assert_eq!(
            send(channel(&node).await, rpc, Bytes::new()).await.unwrap_err().code(),
            Code::Unimplemented,
            "{rpc}"
        );
    }
}

#[tokio::test]
async fn a_malformed_timeout_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut client = node.api().await.client;
    let mut request = Request::new(GetSessionRequest { uid: "x".to_owned() });
    request.metadata_mut().insert("grpc-timeout", "soon".parse().unwrap());
    assert_eq!(client.get_session(request).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn calls_over_the_limit_are_refused_at_once_and_streams_count_until_they_end() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let node = gate.node(NodeBuilder::new(directory.path())).flag("--max-calls", "2").start().await;
    let mut api = node.api().await;
    let first = LiveTurn::begin(&mut api).await;
    let second = LiveTurn::begin(&mut api).await;

    let refused = api.get(&first.session).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{}", refused.message());
    assert!(health(channel(&node).await, "").await.is_ok());

    // One turn ends, the other one's client goes away. The node learns of that a moment later.
    gate.open(1);
    drop((first, second.updates));
    let freed = async {
        while api.get(&second.session).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(support::BOUND, freed).await.unwrap();
}
