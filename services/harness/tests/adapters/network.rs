//! Servers and a proxy on loopback sockets. They end with the test's runtime.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use env::{TaskKind, Tasks};
use harness::{Remote, RemoteOptions};
use sdk::{Harness, Listener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Router;

/// Runs `task` until the test ends.
pub fn background(task: impl Future<Output = ()> + Send + 'static) {
    Tasks::default().spawn("test", TaskKind::Background, task);
}

/// A placement at `address`.
pub fn remote(address: &str) -> Remote {
    remote_with(address, RemoteOptions::default())
}

pub fn remote_with(address: &str, options: RemoteOptions) -> Remote {
    Remote::new(address.parse().expect("an address"), options)
}

/// Serves a harness written with the SDK; returns its address.
pub async fn tcp(harness: impl Harness) -> String {
    serve(sdk::router(Arc::new(harness), sdk::MAX_MESSAGE_BYTES)).await
}

/// The same on a Unix socket, which lives as long as the directory.
pub fn unix(harness: impl Harness, directory: &tempfile::TempDir) -> String {
    let path = directory.path().join("harness.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let router = sdk::router(Arc::new(harness), sdk::MAX_MESSAGE_BYTES);
    background(async move { Listener::from(listener).serve(router, std::future::pending()).await.expect("a server") });
    format!("unix://{}", path.display())
}

/// Serves any router; returns its address.
pub async fn serve(router: Router) -> String {
    let (listener, address) = listen().await;
    background(async move { Listener::from(listener).serve(router, std::future::pending()).await.expect("a server") });
    address.to_string()
}

pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Stands between host and harness, counts connections, and can cut them.
pub struct Proxy {
    pub address: String,
    pub accepted: Arc<AtomicUsize>,
    pub cut: CancellationToken,
}

impl Proxy {
    /// A proxy that cuts a connection after `budget` bytes from the harness, in the middle of whatever they are.
    pub async fn to(target: String, budget: u64) -> Self {
        let (listener, address) = listen().await;
        let proxy = Self {
            address: address.to_string(),
            accepted: Arc::new(AtomicUsize::new(0)),
            cut: CancellationToken::new(),
        };
        let (accepted, cut) = (Arc::clone(&proxy.accepted), proxy.cut.clone());
        background(async move {
            while let Ok((host, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                let harness = TcpStream::connect(&target).await.expect("the harness");
                let relayed = relay(host, harness, budget);
                let cut = cut.clone();
                background(async move { cut.run_until_cancelled(relayed).await.unwrap_or_default() });
            }
        });
        proxy
    }
}

async fn relay(mut host: TcpStream, mut harness: TcpStream, budget: u64) {
    let (mut from_host, mut to_host) = host.split();
    let (from_harness, mut to_harness) = harness.split();
    let back = async {
        let mut limited = from_harness.take(budget);
        drop(tokio::io::copy(&mut limited, &mut to_host).await);
        drop(to_host.flush().await);
    };
    tokio::select! {
        _ = tokio::io::copy(&mut from_host, &mut to_harness) => {}
        () = back => {}
    }
}
