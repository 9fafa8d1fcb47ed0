//! A harness that goes away, or cannot be used.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use controller::ports::{HarnessPlacement, HostFrame};
use harness::RemoteOptions;
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::transport::Server;
use wire::ModelResult;
use wire::harness_server::HarnessServer;

use super::actors::{Script, Step, said, start, turn};
use super::framing::Raw;
use super::network::{self, Proxy};

#[tokio::test]
async fn connection_that_breaks_inside_a_message_fails_the_turn() {
    let large = said(&"x".repeat(1_000_000));
    let harness = network::tcp(Script(vec![Step::Output(large)])).await;
    let proxy = Proxy::to(harness, 500_000).await;
    let mut connection = start(&network::remote(&proxy.address), turn()).await;
    let failure = connection.next().await.expect_err("half a message");
    assert!(failure.to_string().starts_with("the stream of the harness broke"), "{failure}");
    assert!(!failure.is_lasting(), "the next connection may hold");
}

/// Answers every call with these bytes.
#[derive(Clone)]
struct Babbling(&'static str);

impl NamedService for Babbling {
    const NAME: &'static str = "agentsessions.v1.Harness";
}

impl Service<http::Request<Body>> for Babbling {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        let mut answer = http::Response::new(Body::new(self.0.to_owned()));
        answer.headers_mut().insert("content-type", http::HeaderValue::from_static("application/grpc"));
        ready(Ok(answer))
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_no_matter_of_the_network() {
    // A frame says whether it is compressed, and how long it is; the only byte in the second is no field.
    for bytes in ["\u{7}\0\0\0\u{1}x", "\0\0\0\0\u{1}\u{7}", "\u{1}\0\0\0\u{1}x"] {
        let address = network::serve(Server::builder().add_service(Babbling(bytes))).await;
        let channel = network::remote(&address).acquire().await.expect("a channel");
        let mut connection = channel.connect(turn()).await.expect("a connection");
        let failure = connection.next().await.expect_err("garbage");
        assert!(failure.is_lasting(), "{failure}");
    }
}

#[tokio::test]
async fn a_harness_that_refuses_its_turn_would_do_so_again_and_one_that_is_away_may_come_back() {
    for (status, lasting) in [
        (Status::invalid_argument("no such turn"), true),
        (Status::unimplemented("no"), true),
        (Status::unavailable("stopping"), false),
        (Status::cancelled("stopping"), false),
        (Status::internal("a bug"), false),
        (Status::unknown("an exception"), false),
    ] {
        let raw = Raw { refuses: Some(status.clone()), ..Raw::default() };
        let address = network::serve(Server::builder().add_service(HarnessServer::new(raw))).await;
        let mut connection = start(&network::remote(&address), turn()).await;
        let failure = connection.next().await.expect_err("it refuses");
        assert_eq!(failure.is_lasting(), lasting, "{status}");
    }
}

#[tokio::test]
async fn message_above_the_limit_is_refused_before_it_is_sent() {
    let address = network::tcp(Script(Vec::new())).await;
    let options = RemoteOptions { max_message_bytes: 1_000, ..RemoteOptions::default() };
    let channel = network::remote_with(&address, options).acquire().await.expect("a channel");
    let mut large = turn();
    large.config = vec![0; 2_000];
    let Err(failure) = channel.connect(large).await else { panic!("sent") };
    assert!(failure.to_string().contains("exceeds the limit of 1000"), "{failure}");
    assert!(failure.is_lasting());
}

#[tokio::test]
async fn event_above_the_limit_fails_the_turn() {
    let address = network::tcp(Script(vec![Step::Output(said(&"x".repeat(2_000)))])).await;
    let options = RemoteOptions { max_message_bytes: 1_000, ..RemoteOptions::default() };
    let mut connection = start(&network::remote_with(&address, options), turn()).await;
    assert!(connection.next().await.expect_err("too large").is_lasting());
}

#[tokio::test]
async fn harness_that_reads_nothing_holds_back_its_sender() {
    let address = network::serve(
        Server::builder()
            .add_service(HarnessServer::new(Raw { events: vec![wire::Event::default(); 3], ..Raw::default() })),
    )
    .await;
    let mut connection = start(&network::remote(&address), turn()).await;
    connection.next().await.expect("an event");
    let large = ModelResult { message: Some(said(&"x".repeat(1_000_000))), ..ModelResult::default() };
    for _ in 0..100 {
        let sending = connection.send(HostFrame::Model(large.clone()));
        if timeout(Duration::from_millis(50), sending).await.is_err() {
            return;
        }
    }
    panic!("100 MB went somewhere");
}
