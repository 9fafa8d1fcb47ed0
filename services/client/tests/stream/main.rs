//! Sessions against a server that breaks its connections, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

mod checkpoint;
mod server;

use std::sync::Arc;
use std::time::Duration;

use client::stream::{
    BinaryItems, Call, ClientReason, Credential, Endpoints, Error, ErrorCode, InvocationOutcome, Invoker, Item, Method,
    Options, Output, OutputOutcome, Session, StreamRef, Trust, Update, Value, WriteError,
};
use proptest::prelude::*;
use server::{Server, TOKEN};
use tokio::net::TcpListener;
use tokio::time::timeout;
use wire::{AgentMethod, AgentType};

const BOUND: Duration = Duration::from_secs(60);
const BYTE: &str = r#"{"kind":"u8","value":{}}"#;
const STRING: &str = r#"{"kind":"string","value":{}}"#;

fn method(element: &str) -> Method {
    let graph = |fields: &str| format!(r#"{{"root":{{"kind":"record","value":{{"fields":[{fields}]}}}}}}"#);
    let stream = format!(r#"{{"kind":"stream","value":{{"inner":{element}}}}}"#);
    let echo = AgentMethod {
        name: "echo".into(),
        parameters_schema: graph(&format!(r#"{{"body":{stream},"name":"items"}}"#)),
        result_schema: format!(r#"{{"root":{stream}}}"#),
        ..AgentMethod::default()
    };
    let described =
        AgentType { name: "probe".into(), constructor_schema: graph(""), methods: vec![echo], ..AgentType::default() };
    Method::of(&described, "echo").unwrap()
}

fn invoker(addresses: &str) -> Invoker {
    let endpoints: Endpoints = addresses.parse().unwrap();
    let options = Options { silence: Duration::from_secs(2), ..Options::default() };
    Invoker::new(endpoints, Credential::bearer(TOKEN).unwrap()).with_options(options)
}

fn call(invoker: &Invoker, element: &str) -> Call {
    Call {
        application: "lab".into(),
        environment: "dev".into(),
        method: method(element),
        constructor_parameters: Value::Record(vec![]),
        phantom: None,
        method_parameters: Value::Record(vec![Value::Stream(StreamRef::Provisional(invoker.reference()))]),
        configuration: vec![],
        idempotency_key: "job-7".into(),
    }
}

async fn serve(element: &str) -> Server {
    Server::start(Arc::clone(&method(element).parameters)).await
}

/// The one output of a session.
async fn output(session: &mut Session) -> Output {
    loop {
        match timeout(BOUND, session.next()).await.unwrap() {
            Some(Update::Output(output)) => return output,
            Some(_) => {}
            None => panic!("{:?}", session.outcome()),
        }
    }
}

async fn end(session: &mut Session) -> Result<InvocationOutcome, Error> {
    timeout(BOUND, async { while session.next().await.is_some() {} }).await.unwrap();
    session.outcome().unwrap()
}

async fn bytes(output: &mut Output) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((sequence, item)) = timeout(BOUND, output.next()).await.unwrap().unwrap() {
        assert_eq!(sequence, bytes.len() as u64);
        let Item::Binary(BinaryItems::Packed(batch)) = item else { panic!("{item:?}") };
        bytes.extend_from_slice(&batch);
    }
    bytes
}

fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n / 7) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn bytes_arrive_once_and_come_back_once_wherever_connections_break(
        cuts in prop::collection::vec(0_usize..12, 0..8),
        batches in prop::collection::vec(1_usize..5_000, 1..24),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let server = serve(BYTE).await;
            server.journal.lock().unwrap().cuts = cuts.into();
            let invoker = invoker(&server.address);
            let mut session = invoker.start(&call(&invoker, BYTE), None).unwrap();
            let mut input = session.take_inputs().pop().unwrap();
            let sent = sample(batches.iter().sum());
            let mut rest = sent.clone();
            for batch in batches {
                let tail = rest.split_off(batch);
                input.write_bytes(std::mem::replace(&mut rest, tail).into()).await.unwrap();
            }
            input.end();
            let mut output = output(&mut session).await;
            assert!(bytes(&mut output).await == sent);
            assert_eq!(output.outcome(), Some(&OutputOutcome::Ok));
            drop(output);
            assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));
            assert_eq!(server.journal.lock().unwrap().high_water(), sent.len() as u64);
        });
    }
}

#[tokio::test]
async fn values_go_both_ways() {
    let server = serve(STRING).await;
    server.journal.lock().unwrap().cuts = [3, 5].into();
    let invoker = invoker(&server.address);
    let mut session = invoker.start(&call(&invoker, STRING), None).unwrap();
    let mut input = session.take_inputs().pop().unwrap();
    let wrong = input.write(Item::Value(Value::Bool(true))).await;
    assert!(matches!(wrong, Err(WriteError::Invalid(refusal)) if refusal.code == ErrorCode::ValidationError));
    let mut output = output(&mut session).await;
    for n in 0..20_u64 {
        let item = Item::Value(Value::String(n.to_string()));
        input.write(item.clone()).await.unwrap();
        assert_eq!(timeout(BOUND, output.next()).await.unwrap(), Ok(Some((n, item))));
    }
    input.end();
    assert_eq!(output.next().await, Ok(None));
    drop(output);
    assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));
}

#[tokio::test]
async fn a_writer_waits_while_nobody_reads() {
    let server = serve(BYTE).await;
    let invoker = invoker(&server.address);
    let mut session = invoker.start(&call(&invoker, BYTE), None).unwrap();
    let mut input = session.take_inputs().pop().unwrap();
    let mut output = output(&mut session).await;
    let batch = vec![7_u8; 1 << 20];
    let mut written = 0_usize;
    while timeout(Duration::from_secs(3), input.write_bytes(batch.clone().into())).await.is_ok() {
        written += batch.len();
        assert!(written < 80 << 20, "memory is bounded");
    }
    assert!(written >= 16 << 20, "{written} bytes until the writer waits");
    input.end();
    assert_eq!(bytes(&mut output).await.len(), written);
    drop(output);
    assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));
}

#[tokio::test]
async fn k6_what_is_given_up_is_cancelled_with_its_reason() {
    let server = serve(BYTE).await;
    let invoker = invoker(&server.address);
    let mut session = invoker.start(&call(&invoker, BYTE), None).unwrap();
    let input = session.take_inputs().pop().unwrap();
    drop(output(&mut session).await);
    drop(input);
    assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));
    let journal = server.journal.lock().unwrap();
    assert_eq!(journal.output_cancelled, Some(ClientReason::ConsumerDrop));
    assert_eq!(journal.cancelled, Some(ClientReason::SourceUnavailable));
}

#[tokio::test]
async fn a_node_that_does_not_answer_is_left_for_the_next() {
    // One that nothing listens at, one that accepts and says nothing, and a good one.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(BYTE).await;
    let addresses = format!("{gone},{},{}", mute.local_addr().unwrap(), server.address);
    let options = Options { connect_timeout: Duration::from_millis(300), ..Options::default() };
    let invoker = invoker(&addresses).with_options(options);
    let mut session = invoker.start(&call(&invoker, BYTE), None).unwrap();
    session.take_inputs().pop().unwrap().end();
    let mut lost = 0;
    let accepted = loop {
        match timeout(BOUND, session.next()).await.unwrap() {
            Some(Update::Lost { .. }) => lost += 1,
            Some(Update::Accepted { endpoint }) => break endpoint,
            _ => panic!("{:?}", session.outcome()),
        }
    };
    assert_eq!((lost, accepted), (2, server.address.clone()));
}

#[tokio::test]
async fn a_credential_that_is_refused_ends_the_session_with_its_code() {
    let server = serve(BYTE).await;
    let endpoints: Endpoints = server.address.parse().unwrap();
    let invoker = Invoker::new(endpoints, Credential::bearer("wrong").unwrap());
    let mut session = invoker.start(&call(&invoker, BYTE), None).unwrap();
    let error = end(&mut session).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::AuthenticationFailed));
    assert!(!format!("{error:?}").contains("wrong"));
}

#[tokio::test]
async fn wss_is_believed_only_with_a_certificate_of_a_trusted_authority() {
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![signed.cert.der().clone()], key).unwrap();
    let parameters = Arc::clone(&method(BYTE).parameters);
    let server = Server::start_with(parameters, Some(Arc::new(config).into())).await;

    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("ca.pem");
    std::fs::write(&authority, signed.cert.pem()).unwrap();
    let trusting = invoker(&server.address).trusting(Trust::file(&authority).unwrap());
    let mut session = trusting.start(&call(&trusting, BYTE), None).unwrap();
    session.take_inputs().pop().unwrap().end();
    drop(output(&mut session).await);
    assert_eq!(end(&mut session).await, Ok(InvocationOutcome::Success));

    let suspicious = invoker(&server.address);
    let mut session = suspicious.start(&call(&suspicious, BYTE), None).unwrap();
    assert!(matches!(timeout(BOUND, session.next()).await.unwrap(), Some(Update::Lost { .. })));
}
