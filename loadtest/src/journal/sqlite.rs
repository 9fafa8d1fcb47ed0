//! Bare SQLite.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tokio::time::Instant;

use super::RECORD_BYTES;

/// A table of records, each commit to it durable (WAL, synchronous FULL).
pub struct BareSqlite {
    connection: Connection,
}

impl BareSqlite {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch("CREATE TABLE records (seq INTEGER PRIMARY KEY, record BLOB NOT NULL)")?;
        Ok(Self { connection })
    }

    /// How many transactions of one insert commit per second.
    pub fn inserts_per_second(&self, bound: Duration) -> anyhow::Result<f64> {
        let mut insert = self.connection.prepare("INSERT INTO records (record) VALUES (?1)")?;
        let record = [0x5a_u8; RECORD_BYTES];
        let begun = Instant::now();
        let mut count = 0_u32;
        while begun.elapsed() < bound {
            insert.execute([record])?;
            count += 1;
        }
        Ok(f64::from(count) / begun.elapsed().as_secs_f64())
    }
}
