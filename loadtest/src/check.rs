//! The check of what a host says under load: no gap, no duplicate, and the same records twice.

use anyhow::ensure;
use client::{Client, SeqRange};
use wire::LogRecord;
use wire::verify::Verifier;

/// A session as its client has seen it grow.
#[derive(Default)]
pub struct Seen(Verifier);

impl Seen {
    /// Takes the next record that the host sent. It must follow the one before it: a gap, a duplicate and a wrong hash
    /// all fail here.
    pub fn record(&mut self, record: &LogRecord) -> anyhow::Result<()> {
        Ok(self.0.check(record)?)
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.0.last_seq()
    }

    /// Reads the session from the beginning: it must be what was seen.
    pub async fn compare(&self, client: &Client, session: &str) -> anyhow::Result<()> {
        let mut replayed = Verifier::new();
        let mut records = client.replay(session, SeqRange::ALL);
        while let Some(record) = records.next().await? {
            replayed.check(&record)?;
        }
        ensure!(
            (replayed.last_seq(), replayed.head()) == (self.0.last_seq(), self.0.head()),
            "session {session}: {} records were sent as they became durable, {} are replayed",
            self.0.last_seq(),
            replayed.last_seq(),
        );
        Ok(())
    }
}
