//! A harness that goes away, or cannot be used.

use std::time::Duration;

use controller::ports::{HarnessPlacement, HostFrame};
use harness::RemoteOptions;
use tokio::time::timeout;
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
}

#[tokio::test]
async fn event_above_the_limit_fails_the_turn() {
    let address = network::tcp(Script(vec![Step::Output(said(&"x".repeat(2_000)))])).await;
    let options = RemoteOptions { max_message_bytes: 1_000, ..RemoteOptions::default() };
    let mut connection = start(&network::remote_with(&address, options), turn()).await;
    assert!(connection.next().await.is_err());
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
