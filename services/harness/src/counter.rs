//! The harness that remembers.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use sdk::{Failure, Harness, Sink, Turn, async_trait};
use wire::{HarnessDescriptor, Message};

use crate::describe;

/// Says how many turns it has run. The log does not tell it, so it needs memory snapshots to be resumed. The count is in
/// memory alone, or also in a file.
#[derive(Debug, Default)]
pub struct Counter {
    turns: AtomicU64,
    file: Option<PathBuf>,
}

impl Counter {
    /// Its descriptor id.
    pub const NAME: &'static str = "counter";

    /// Goes on from the count in a file, which is empty at first, and keeps it there.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn kept_in(file: PathBuf) -> io::Result<Self> {
        let text = std::fs::read_to_string(&file)?;
        let turns = if text.is_empty() { 0 } else { text.parse().map_err(io::Error::other)? };
        Ok(Self { turns: AtomicU64::new(turns), file: Some(file) })
    }
}

#[async_trait]
impl Harness for Counter {
    fn describe(&self) -> HarnessDescriptor {
        describe::memory(Self::NAME)
    }

    async fn run(&self, _: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let count = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(file) = &self.file {
            tokio::fs::write(file, count.to_string()).await?;
        }
        sink.output(Message::text("assistant", count.to_string())).await?;
        Ok(())
    }
}
