//! A connection that breaks.

use env::{TaskKind, Tasks};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// Stands in front of the harness at `target` and drops each connection once the harness has sent `bytes` on it, in the
/// middle of whatever they are. Returns its address.
pub async fn cut_after(bytes: u64, target: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let tasks = Tasks::default();
    tasks.clone().spawn("cut", TaskKind::Background, async move {
        while let Ok((host, _)) = listener.accept().await {
            let harness = TcpStream::connect(&target).await.expect("the harness");
            tasks.spawn("cut connection", TaskKind::Background, relay(bytes, host, harness));
        }
    });
    address
}

async fn relay(bytes: u64, mut host: TcpStream, mut harness: TcpStream) {
    let (mut from_host, mut to_host) = host.split();
    let (from_harness, mut to_harness) = harness.split();
    let mut answers = from_harness.take(bytes);
    tokio::select! {
        _ = tokio::io::copy(&mut from_host, &mut to_harness) => {}
        _ = tokio::io::copy(&mut answers, &mut to_host) => {}
    }
}
