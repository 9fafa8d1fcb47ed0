//! The harness that remembers.

use std::sync::atomic::{AtomicU64, Ordering};

use sdk::{Failure, Harness, Sink, Turn, async_trait};
use wire::{HarnessDescriptor, Message};

use crate::describe;

/// Says how many turns it has run. The count is in memory and nowhere else, so it needs memory snapshots to be resumed.
#[derive(Debug, Default)]
pub struct Counter {
    turns: AtomicU64,
}

impl Counter {
    /// Its descriptor id.
    pub const NAME: &'static str = "counter";
}

#[async_trait]
impl Harness for Counter {
    fn describe(&self) -> HarnessDescriptor {
        describe::memory(Self::NAME)
    }

    async fn run(&self, _: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let count = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        sink.output(Message::text("assistant", count.to_string())).await?;
        Ok(())
    }
}
