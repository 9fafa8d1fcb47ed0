//! What operators and their tools see: health, reflection, request ids, the log.

use support::{NodeBuilder, NodeProcess, serve_raw, text};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use wire::exec_update::Update;
use wire::{CancelRequest, ExecRequest, GetSessionRequest};

pub async fn channel(node: &NodeProcess) -> Channel {
    Endpoint::from_shared(format!("http://{}", node.address())).unwrap().connect().await.unwrap()
}

pub async fn health(channel: Channel, service: &str) -> Result<ServingStatus, Code> {
    let request = HealthCheckRequest { service: service.to_owned() };
    let response = HealthClient::new(channel).check(request).await.map_err(|status| status.code())?;
    Ok(response.into_inner().status())
}

#[tokio::test]
async fn health_knows_the_node_and_the_service() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let channel = channel(&node).await;
    for service in ["", "agentsessions.v1.Sessions"] {
        assert_eq!(health(channel.clone(), service).await, Ok(ServingStatus::Serving), "{service:?}");
    }
    assert_eq!(health(channel, "no.such.Service").await, Err(Code::NotFound));
}

#[tokio::test]
async fn reflection_describes_sessions_and_does_not_offer_the_operator_service() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut client = ServerReflectionClient::new(channel(&node).await);
    let mut ask = async |request: MessageRequest| {
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(request) };
        let answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap();
        answers.into_inner().message().await.unwrap().unwrap().message_response.unwrap()
    };
    let MessageResponse::ListServicesResponse(list) = ask(MessageRequest::ListServices(String::new())).await else {
        panic!("no list of services")
    };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains(&"agentsessions.v1.Sessions"), "{names:?}");
    assert!(!names.contains(&"agentsessions.v1.HarnessRegistry"), "{names:?}");
    let symbol = MessageRequest::FileContainingSymbol("agentsessions.v1.Sessions.Exec".to_owned());
    assert!(matches!(ask(symbol).await, MessageResponse::FileDescriptorResponse(_)));
}

#[tokio::test]
async fn a_good_request_id_comes_back_and_a_bad_one_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).start().await;
    let mut client = node.api().await.client;
    let mut returned = async |sent: Option<&str>| {
        let mut request = Request::new(GetSessionRequest { uid: "sess-unknown".to_owned() });
        if let Some(id) = sent {
            request.metadata_mut().insert("x-request-id", id.parse().unwrap());
        }
        let status = client.get_session(request).await.unwrap_err();
        assert_eq!(status.code(), Code::NotFound);
        status.metadata().get("x-request-id").unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(returned(Some("My-id_1.2")).await, "My-id_1.2");
    for sent in [None, Some("no spaces"), Some(&*"x".repeat(129))] {
        let id = returned(sent).await;
        assert!(id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sent:?} became {id:?}");
    }
}

#[tokio::test]
async fn each_call_is_one_line_of_the_log_without_its_contents() {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "contents of a message").await;
    let _ = api.client.cancel(CancelRequest { session: session.clone(), ..CancelRequest::default() }).await;
    node.terminate();
    node.wait(support::BOUND).await;

    let log = std::fs::read_to_string(builder.log()).unwrap();
    assert!(!log.contains("contents of a message"), "{log}");
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = |operation: &str| {
        let of = |line: &&serde_json::Value| line["target"] == "agentsessions::call" && line["operation"] == operation;
        let found: Vec<_> = lines.iter().filter(of).collect();
        assert_eq!(found.len(), 1, "{operation}: {log}");
        found[0].clone()
    };
    assert_eq!(call("CreateSession")["code"], "Ok");
    let exec = call("Exec");
    assert_eq!((exec["code"].as_str(), exec["session"].as_str()), (Some("Ok"), Some(&*session)));
    assert!(exec["items"].as_u64().unwrap() >= 6 && exec["duration_ms"].is_number(), "{exec}");
    assert_eq!(exec["request_id"].as_str().unwrap().len(), 24);
    assert_eq!(call("Cancel")["code"], "Unimplemented");
}

#[tokio::test]
async fn the_log_tells_the_session_of_a_first_turn_and_not_what_its_harness_says() {
    let directory = tempfile::tempdir().unwrap();
    let harness = serve_raw(|mut talk| Box::pin(async move { talk.end("words of the harness").await })).await;
    let builder = NodeBuilder::new(directory.path()).harness("raw", &harness);
    let mut node = builder.start().await;
    let mut api = node.api().await;
    let request = ExecRequest { harness: "raw".into(), inputs: vec![text("hi")], ..ExecRequest::default() };
    let (updates, failure) = api.exec(request).await;
    assert!(failure.unwrap().message().contains("words of the harness"), "the caller is told");
    let Some(Update::Session(session)) = updates.into_iter().find_map(|update| update.update) else { panic!() };
    node.terminate();
    node.wait(support::BOUND).await;

    let log = std::fs::read_to_string(builder.log()).unwrap();
    assert!(!log.contains("words of the harness") && log.contains("harness ended the turn as failed"), "{log}");
    let line = log.lines().find(|line| line.contains("\"operation\":\"Exec\"") && line.contains("call ended")).unwrap();
    assert!(line.contains(&session.metadata.unwrap().uid), "{line}");
}
