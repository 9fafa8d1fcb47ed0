//! Asking a harness what it is.

use std::sync::atomic::Ordering;
use std::time::Duration;

use controller::ports::{DescribeError, HarnessPlacement};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use tonic::transport::Server;
use tonic::{Code, Status};
use wire::harness_server::HarnessServer;

use super::actors::{Gates, Script, play, turn};
use super::framing::Raw;
use super::network::{self, Proxy};

async fn describe(address: &str) -> Result<String, DescribeError> {
    let mut channel = network::remote(address).acquire().await?;
    Ok(channel.describe().await?.id)
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let (listener, address) = network::listen().await;
    drop(listener);
    let missing = tempfile::tempdir().expect("a directory").path().join("gone.sock");
    for address in [address.to_string(), format!("unix:{}", missing.display())] {
        let error = describe(&address).await.expect_err("nobody is there");
        assert!(matches!(error, DescribeError::Unavailable(_)), "{error}");
        assert!(error.to_string().contains(&address), "{error}");
    }
}

#[tokio::test]
async fn peer_that_speaks_something_else_is_unavailable() {
    let (listener, address) = network::listen().await;
    network::background(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.9\r\n").await);
        }
    });
    let error = describe(&address.to_string()).await.expect_err("no harness");
    assert!(matches!(error, DescribeError::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn peer_without_the_service_has_refused() {
    let (_, health) = tonic_health::server::health_reporter();
    let address = network::serve(Server::builder().add_service(health)).await;
    let error = describe(&address).await.expect_err("no harness");
    assert!(matches!(error, DescribeError::Refused(_)), "{error}");
}

#[tokio::test]
async fn answered_error_is_a_refusal_unless_it_says_unavailable() {
    for (code, refused) in [(Code::Internal, true), (Code::PermissionDenied, true), (Code::Unavailable, false)] {
        let raw = Raw { describe_error: Some(Status::new(code, "no")), ..Raw::default() };
        let address = network::serve(Server::builder().add_service(HarnessServer::new(raw))).await;
        let error = describe(&address).await.expect_err("an error");
        assert_eq!(matches!(error, DescribeError::Refused(_)), refused, "{error}");
    }
}

#[tokio::test]
async fn describe_that_is_never_answered_ends_with_the_callers_patience() {
    let (listener, address) = network::listen().await;
    let waited = timeout(Duration::from_millis(100), describe(&address.to_string())).await;
    assert!(waited.is_err(), "nobody answered");
    // The connection was given up with the call.
    let (mut stream, _) = listener.accept().await.expect("the connection");
    let ended = timeout(Duration::from_secs(5), stream.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok(), "the connection stayed open");
}

#[tokio::test]
async fn what_was_described_on_a_connection_runs_on_it() {
    let proxy = Proxy::to(network::tcp(Script(Vec::new())).await, u64::MAX).await;
    let mut channel = network::remote(&proxy.address).acquire().await.expect("a channel");
    assert_eq!(channel.describe().await.expect("a descriptor").version, "7");
    let events = play(channel.connect(turn()).await.expect("a connection"), Gates::Park).await;
    assert_eq!(events.len(), 1);
    assert_eq!(proxy.accepted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn connection_that_broke_after_describe_is_not_replaced() {
    let proxy = Proxy::to(network::tcp(Script(Vec::new())).await, u64::MAX).await;
    let mut channel = network::remote(&proxy.address).acquire().await.expect("a channel");
    channel.describe().await.expect("a descriptor");
    proxy.cut.cancel();
    let mut connection = channel.connect(turn()).await.expect("a prepared connection");
    assert!(connection.next().await.is_err());
    assert_eq!(proxy.accepted.load(Ordering::Relaxed), 1);
}
