//! Every row of registry.md §6.

use std::net::TcpListener;

use support::{Api, NodeBuilder, Operator, connect, remote_spec};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use wire::GetSessionRequest;

use crate::world::{World, refused};

#[tokio::test]
async fn literal_loopback_addresses_are_listened_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut accepted = vec!["127.0.0.1:0", "127.8.9.10:0", "[::ffff:127.0.0.1]:0"];
    if TcpListener::bind("[::1]:0").is_ok() {
        accepted.push("[::1]:0");
    }
    for addr in accepted {
        let node = NodeBuilder::new(directory.path()).flag("--registry-addr", addr).start().await;
        node.operator().await.get("echo").await.unwrap();
    }
}

#[tokio::test]
async fn every_other_address_is_refused_before_anything_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let refused = [
        "localhost:0",
        "host.example:0",
        ":0",
        "0.0.0.0:0",
        "[::]:0",
        "10.0.0.1:0",
        "192.168.0.1:0",
        "[::ffff:10.0.0.1]:0",
        "[fe80::1%1]:0",
        "[::1%lo]:0",
        "127.0.0.1",
        "127.0.0.1:http",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
    ];
    for addr in refused {
        let said = NodeBuilder::new(directory.path()).flag("--registry-addr", addr).refusal().await;
        assert!(said.starts_with("agentsessionsd: ") && said.contains("loopback"), "{addr}: {said}");
    }
    assert!(!directory.path().join("journal.db").exists());
}

#[tokio::test]
async fn the_port_of_the_sessions_listener_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for sessions in [free.to_string(), format!("127.0.0.2:{}", free.port()), format!(":{}", free.port())] {
        let builder =
            NodeBuilder::new(directory.path()).flag("--addr", &sessions).flag("--registry-addr", free.to_string());
        let said = builder.refusal().await;
        assert!(said.contains("registry.addr"), "{sessions}: {said}");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_refused_and_no_session_served() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let said = NodeBuilder::new(directory.path()).flag("--registry-addr", &addr).refusal().await;
    assert!(said.contains(&format!("cannot listen on {addr}")), "{said}");
}

#[tokio::test]
async fn neither_service_is_on_the_listener_of_the_other() {
    let world = World::new().await;
    let mut astray: Api = connect(world.node.operator_address()).await;
    let request = GetSessionRequest { uid: "sess-x".into() };
    assert_eq!(refused(astray.client.get_session(request).await), Code::Unimplemented);
    let mut astray = Operator::connect(world.node.address()).await;
    assert_eq!(refused(astray.get("echo").await), Code::Unimplemented);
    assert_eq!(refused(astray.register("h", remote_spec("h:1")).await), Code::Unimplemented);
}

async fn services(address: &str) -> Vec<String> {
    let mut client = ServerReflectionClient::new(channel(address).await);
    let message_request = Some(MessageRequest::ListServices(String::new()));
    let request = ServerReflectionRequest { host: String::new(), message_request };
    let answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap();
    match answers.into_inner().message().await.unwrap().unwrap().message_response.unwrap() {
        MessageResponse::ListServicesResponse(list) => list.service.into_iter().map(|service| service.name).collect(),
        other => panic!("no list of services: {other:?}"),
    }
}

async fn channel(address: &str) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

#[tokio::test]
async fn reflection_and_health_know_the_service_of_their_listener() {
    let world = World::new().await;
    let (sessions, registry) = ("agentsessions.v1.Sessions", "agentsessions.v1.HarnessRegistry");
    for (address, own, other) in
        [(world.node.operator_address(), registry, sessions), (world.node.address(), sessions, registry)]
    {
        let services = services(address).await;
        assert!(services.iter().any(|name| name == own) && services.iter().all(|name| name != other), "{services:?}");
        let mut health = HealthClient::new(channel(address).await);
        health.check(HealthCheckRequest { service: own.into() }).await.unwrap();
        let unknown = health.check(HealthCheckRequest { service: other.into() }).await;
        assert_eq!(refused(unknown), Code::NotFound);
    }
}

#[tokio::test]
async fn operators_are_not_listened_to_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let log = std::fs::read_to_string(directory.path().join("node.log")).unwrap();
    assert!(!log.contains("operators"), "{log}");
    assert_eq!(refused(Operator::connect(node.address()).await.get("echo").await), Code::Unimplemented);
}

#[tokio::test]
async fn a_node_that_stops_refuses_operators_too() {
    let mut world = World::new().await;
    world.operator.get("echo").await.unwrap();
    world.node.terminate();
    let status = world.node.wait(support::BOUND).await;
    assert!(status.success(), "{status}");
}
