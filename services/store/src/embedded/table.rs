//! The ordered map as statements on one SQLite connection.

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::range::PageBuilder;
use crate::tree::{Tree, TreeMut};
use crate::{KeyRange, KeyValue, Page, RangeRead};

const GET: &str = "SELECT value FROM entries WHERE key = ?1";
const SCAN: &str = "SELECT key, value FROM entries WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
const SCAN_BACK: &str = "SELECT key, value FROM entries WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";
const PUT: &str = "INSERT OR REPLACE INTO entries (key, value) VALUES (?1, ?2)";
const REMOVE: &str = "DELETE FROM entries WHERE key = ?1";
const REMOVE_RANGE: &str = "DELETE FROM entries WHERE key >= ?1 AND key < ?2";

/// The entries as one connection sees them.
pub(super) struct Table {
    connection: Connection,
}

impl Table {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Starts a read transaction; its first read fixes what it sees.
    pub(super) fn begin_read(&self) -> rusqlite::Result<()> {
        self.run("BEGIN DEFERRED")
    }

    /// Starts a write transaction, once no other process writes.
    pub(super) fn begin_write(&self) -> rusqlite::Result<()> {
        self.run("BEGIN IMMEDIATE")
    }

    pub(super) fn commit(&self) -> rusqlite::Result<()> {
        self.run("COMMIT")
    }

    /// Ends the open transaction, if there is one, without effect.
    pub(super) fn roll_back(&self) -> rusqlite::Result<()> {
        // SQLite may have rolled back by itself when a statement failed.
        if self.connection.is_autocommit() { Ok(()) } else { self.run("ROLLBACK") }
    }

    /// A number that changes when another connection has changed the store.
    pub(super) fn data_version(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }
}

impl Tree for Table {
    type Error = rusqlite::Error;

    fn get(&self, key: &[u8]) -> rusqlite::Result<Option<Bytes>> {
        self.connection.prepare_cached(GET)?.query_row([key], |row| blob(row, 0)).optional()
    }

    fn page(&self, read: &RangeRead) -> rusqlite::Result<Page> {
        let mut statement = self.connection.prepare_cached(if read.reverse { SCAN_BACK } else { SCAN })?;
        let limit = i64::try_from(read.limit).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![&read.range.begin[..], &read.range.end[..], limit])?;
        let mut page = PageBuilder::new(read);
        while !page.is_full()
            && let Some(row) = rows.next()?
        {
            page.push(KeyValue { key: blob(row, 0)?, value: blob(row, 1)? });
        }
        Ok(page.finish())
    }
}

impl TreeMut for Table {
    fn put(&mut self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        self.connection.prepare_cached(PUT)?.execute(params![key, value]).map(drop)
    }

    fn remove(&mut self, key: &[u8]) -> rusqlite::Result<()> {
        self.connection.prepare_cached(REMOVE)?.execute([key]).map(drop)
    }

    fn remove_range(&mut self, range: &KeyRange) -> rusqlite::Result<()> {
        self.connection.prepare_cached(REMOVE_RANGE)?.execute([&range.begin[..], &range.end[..]]).map(drop)
    }
}

fn blob(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(Bytes::copy_from_slice(bytes)),
        other => Err(rusqlite::Error::InvalidColumnType(column, "blob".into(), other.data_type())),
    }
}
