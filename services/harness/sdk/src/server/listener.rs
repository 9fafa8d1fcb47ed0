//! Where connections come from.

use std::future::Future;

use tokio::net::{TcpListener, UnixListener};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::server::{Router, TcpIncoming};

/// A bound socket.
#[derive(Debug)]
pub enum Listener {
    /// Cleartext HTTP/2 over TCP.
    Tcp(TcpListener),
    /// The same over a Unix socket.
    Unix(UnixListener),
}

impl Listener {
    /// Serves `router` until `shutdown` is done, then waits for the calls under way.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn serve(
        self,
        router: Router,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        match self {
            Self::Tcp(listener) => {
                // A turn is a series of small messages, each of which the other side waits for.
                let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                router.serve_with_incoming_shutdown(incoming, shutdown).await
            }
            Self::Unix(listener) => {
                router.serve_with_incoming_shutdown(UnixListenerStream::new(listener), shutdown).await
            }
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self::Unix(listener)
    }
}
