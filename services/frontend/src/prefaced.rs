//! A connection that has to begin within a bound.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// What a client of HTTP/2 begins with (RFC 9113 §3.4), in bytes. What they are is checked by whoever reads them.
const PREFACE_BYTES: usize = 24;

/// Fails reads with [`io::ErrorKind::TimedOut`] if the preface is not there in time.
pub(crate) struct Prefaced<C> {
    connection: C,
    /// Until the preface has been read.
    waiting: Option<Waiting>,
}

struct Waiting {
    bytes_left: usize,
    bound: Pin<Box<Sleep>>,
}

impl<C> Prefaced<C> {
    /// `connection`, whose preface must have come within `bound` from now.
    pub(crate) fn new(connection: C, bound: Duration) -> Self {
        let waiting = Waiting { bytes_left: PREFACE_BYTES, bound: Box::pin(sleep(bound)) };
        Self { connection, waiting: Some(waiting) }
    }

    fn count(&mut self, bytes: usize) {
        self.waiting = self.waiting.take().filter(|waiting| waiting.bytes_left > bytes);
        if let Some(waiting) = &mut self.waiting {
            waiting.bytes_left -= bytes;
        }
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Prefaced<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.connection).poll_read(context, buffer);
        match (read, &mut self.waiting) {
            (Poll::Pending, Some(waiting)) => {
                waiting.bound.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            (read, None) => read,
            (read, Some(_)) => {
                self.count(buffer.filled().len() - before);
                read
            }
        }
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Prefaced<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}
