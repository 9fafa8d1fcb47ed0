//! A connection to a host in the same process: the same service over the same protocol, through memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint};

use crate::Options;

/// Bytes under way in one direction.
const PIPE_BYTES: usize = 256 << 10;
/// Connections that wait to be accepted.
const BACKLOG: usize = 16;

/// The host's side: a stream of connections, as a socket's listener is one.
pub struct Listener(mpsc::Receiver<DuplexStream>);

/// The client's side. Cheap to clone.
#[derive(Clone)]
pub struct Connector(mpsc::Sender<DuplexStream>);

/// Two ends of a listening address in memory.
#[must_use]
pub fn in_process() -> (Listener, Connector) {
    let (connector, listener) = mpsc::channel(BACKLOG);
    (Listener(listener), Connector(connector))
}

impl Stream for Listener {
    type Item = io::Result<DuplexStream>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|connection| connection.map(Ok))
    }
}

impl Connector {
    /// A channel that opens its connections here when it needs them.
    pub(crate) fn channel(self, options: &Options) -> Channel {
        let endpoint = options.tune(Endpoint::from_static("http://in-process"));
        endpoint.connect_with_connector_lazy(tower::service_fn(move |_| {
            let connector = self.clone();
            async move { connector.open().await.map(TokioIo::new) }
        }))
    }

    async fn open(&self) -> io::Result<DuplexStream> {
        let (client, host) = tokio::io::duplex(PIPE_BYTES);
        let refused = |_| io::Error::new(io::ErrorKind::ConnectionRefused, "the host in this process has stopped");
        self.0.send(host).await.map_err(refused)?;
        Ok(client)
    }
}
