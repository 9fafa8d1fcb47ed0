//! Bare SQLite.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use tokio::time::Instant;

use super::RECORD_BYTES;

/// How many transactions of one insert commit per second, each durable (WAL, synchronous FULL).
pub fn inserts_per_second(path: &Path, bound: Duration) -> anyhow::Result<f64> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch("CREATE TABLE records (seq INTEGER PRIMARY KEY, record BLOB NOT NULL)")?;
    let mut insert = connection.prepare("INSERT INTO records VALUES (?1, ?2)")?;
    let record = [0x5a_u8; RECORD_BYTES];

    let begun = Instant::now();
    let mut seq = 0_u32;
    while begun.elapsed() < bound {
        insert.execute(params![seq, record])?;
        seq += 1;
    }
    Ok(f64::from(seq) / begun.elapsed().as_secs_f64())
}
