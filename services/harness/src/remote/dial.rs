//! Opening a connection.

use std::future::ready;
use std::io;

use controller::ports::HarnessUnavailable;
use hyper_util::rt::TokioIo;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Duration, timeout};
use tonic::transport::{Channel, Endpoint, Uri};

use super::address::Target;
use super::{HarnessAddress, RemoteOptions};

/// A silent peer is given up after about 50 s.
const TCP_KEEPALIVE_IDLE: Duration = Duration::from_secs(20);
const TCP_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const TCP_KEEPALIVE_PROBES: u32 = 3;

/// Most turns on one connection. The window of the connection has room for all that as many harnesses may send ahead of
/// being read, so that a turn which does not read holds up no other.
pub(super) const TURNS: usize = 16;
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * TURNS as u32;

/// Connects to `address`. The channel never reconnects: what was described on it is what runs on it, or nothing.
pub(crate) async fn dial(address: &HarnessAddress, options: &RemoteOptions) -> Result<Channel, HarnessUnavailable> {
    match timeout(options.connect_timeout, connect(address.target(), options)).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(HarnessUnavailable(format!("cannot connect to {address}: {error}"))),
        Err(_) => Err(HarnessUnavailable(format!("no connection to {address} within {:?}", options.connect_timeout))),
    }
}

async fn connect(target: &Target, options: &RemoteOptions) -> io::Result<Channel> {
    match target {
        Target::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), port.get())).await?;
            stream.set_nodelay(true)?;
            keep_alive(&stream)?;
            let authority = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
            handshake(stream, &authority, options).await
        }
        Target::Unix(path) => handshake(UnixStream::connect(path).await?, "localhost", options).await,
    }
}

fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, TCP_KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, TCP_KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, TCP_KEEPALIVE_PROBES)?;
    Ok(())
}

async fn handshake<S>(stream: S, authority: &str, options: &RemoteOptions) -> io::Result<Channel>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut once = Some(TokioIo::new(stream));
    let connector = tower::service_fn(move |_: Uri| {
        ready(once.take().ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the connection is lost")))
    });
    let endpoint = Endpoint::from_shared(format!("http://{authority}")).map_err(io::Error::other)?;
    endpoint
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(options.keepalive_interval)
        .keep_alive_timeout(options.keepalive_timeout)
        .connect_with_connector(connector)
        .await
        .map_err(io::Error::other)
}
