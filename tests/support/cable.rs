//! A TCP connection that can be interrupted without either end being told.

use env::{TaskKind, Tasks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes bytes between whoever connects to it and one address, unless it is cut. Stops when the test's runtime ends.
pub struct Cable {
    address: String,
    whole: watch::Sender<bool>,
}

impl Cable {
    /// A cable to `host:port`.
    pub async fn to(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let here = listener.local_addr().expect("a bound listener has an address").to_string();
        let (whole, state) = watch::channel(true);
        let there = address.to_owned();
        Tasks::default().spawn("cable", TaskKind::Background, async move {
            while let Ok((near, _)) = listener.accept().await {
                // An end that cannot be reached hangs up.
                let Ok(far) = TcpStream::connect(&there).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                Tasks::default().spawn("there", TaskKind::Background, pass(near_in, far_out, state.clone()));
                Tasks::default().spawn("back", TaskKind::Background, pass(far_in, near_out, state.clone()));
            }
        });
        Self { address: here, whole }
    }

    /// `host:port` of the near end.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Lets nothing through from now on. Connections stay open, and new ones are accepted.
    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// Lets everything through again, what was held up first.
    pub fn mend(&self) {
        self.whole.send_replace(true);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut whole: watch::Receiver<bool>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if whole.wait_for(|whole| *whole).await.is_err() || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
