//! Who reads standard output.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

use super::OutputError;

/// Waits until the reader of standard output has closed it, while nothing is written that would fail. For ever, if it is
/// nothing that can be closed, such as a file.
pub async fn closed() -> OutputError {
    match reader_gone().await {
        Ok(()) => io::Error::from(ErrorKind::BrokenPipe).into(),
        Err(_) => pending().await,
    }
}

async fn reader_gone() -> io::Result<()> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    // Unchecked, as nothing is written through this one: it may go on to block whoever writes.
    Sender::from_owned_fd_unchecked(stdout)?.ready(Interest::ERROR).await.map(drop)
}
