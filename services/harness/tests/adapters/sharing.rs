//! Connections that turns share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use controller::ports::HarnessPlacement;
use sdk::Listener;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::actors::{Gates, Script, Step, play, said, start, turn};
use super::network::{self, Proxy};

async fn counted() -> Proxy {
    Proxy::to(network::tcp(Script(vec![Step::Model])).await, u64::MAX).await
}

fn connections(proxy: &Proxy) -> usize {
    proxy.accepted.load(Ordering::Relaxed)
}

#[tokio::test]
async fn one_turn_after_the_other_runs_on_one_connection() {
    let proxy = counted().await;
    let placement = network::remote(&proxy.address);
    for _ in 0..3 {
        assert_eq!(play(start(&placement, turn()).await, Gates::Park).await.len(), 2);
    }
    assert_eq!(connections(&proxy), 1);
}

#[tokio::test]
async fn sixteen_turns_share_a_connection_and_the_next_one_gets_another() {
    let proxy = counted().await;
    let placement = network::remote(&proxy.address);
    let mut running = Vec::new();
    for expected in [1; 16].into_iter().chain([2]) {
        running.push(start(&placement, turn()).await);
        assert_eq!(connections(&proxy), expected, "with {} turns", running.len());
    }
    for connection in running {
        play(connection, Gates::Park).await;
    }
}

#[tokio::test]
async fn connection_without_an_answer_is_given_to_nobody_else() {
    let (listener, address) = network::listen().await;
    let placement = network::remote(&address.to_string());
    for _ in 0..2 {
        let mut channel = placement.acquire().await.expect("a channel");
        assert!(timeout(Duration::from_millis(50), channel.describe()).await.is_err(), "nobody answers");
    }
    for _ in 0..2 {
        timeout(Duration::from_secs(5), listener.accept()).await.expect("two connections").expect("a connection");
    }
}

#[tokio::test]
async fn harness_that_was_restarted_is_dialed_anew() {
    let (stop, address) = serve_at("127.0.0.1:0".parse().expect("an address")).await;
    let placement = network::remote(&address.to_string());
    play(start(&placement, turn()).await, Gates::Park).await;
    stop().await;
    let (_stop, _) = serve_at(address).await;
    play(start(&placement, turn()).await, Gates::Park).await;
}

/// A harness at `address`, and what ends it and all its connections.
async fn serve_at(address: SocketAddr) -> (impl AsyncFnOnce(), SocketAddr) {
    let listener = TcpListener::bind(address).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = (CancellationToken::new(), CancellationToken::new());
    let (asked, done) = (stop.clone(), stopped.clone().drop_guard());
    network::background(async move {
        let router = sdk::router(Arc::new(Script(vec![Step::Model])), sdk::MAX_MESSAGE_BYTES);
        let served = Listener::from(listener).serve(router, asked.cancelled_owned()).await;
        served.expect("a server");
        drop(done);
    });
    let stop = async move || {
        stop.cancel();
        stopped.cancelled().await;
    };
    (stop, address)
}

#[tokio::test]
async fn turn_that_is_not_read_holds_up_no_other_on_its_connection() {
    let emitted = Arc::new(Semaphore::new(0));
    let address = network::tcp(Script(vec![Step::Flood(said(&"x".repeat(64 * 1024)), Arc::clone(&emitted))])).await;
    let placement = network::remote(&address);
    let mut unread = Vec::new();
    for _ in 0..15 {
        let mut connection = start(&placement, turn()).await;
        connection.next().await.expect("an event");
        unread.push(connection);
    }
    // Until all of them are held back by their windows.
    while let Ok(permit) = timeout(Duration::from_millis(300), emitted.acquire()).await {
        permit.expect("open").forget();
    }
    let mut read = start(&placement, turn()).await;
    for _ in 0..100 {
        timeout(Duration::from_secs(5), read.next()).await.expect("in time").expect("an event");
    }
}

#[tokio::test]
async fn old_connection_is_given_to_no_new_turn() {
    let proxy = counted().await;
    let placement = network::remote(&proxy.address);
    play(start(&placement, turn()).await, Gates::Park).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    play(start(&placement, turn()).await, Gates::Park).await;
    assert_eq!(connections(&proxy), 2);
}
