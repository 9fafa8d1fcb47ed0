//! The ordered map as statements on one SQLite connection.

use bytes::Bytes;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ValueRef};
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OptionalExtension, Row, ffi, params};

use super::doubt::Doubt;
use crate::optimistic::Swap;
use crate::range::PageBuilder;
use crate::tree::{Tree, TreeMut};
use crate::{KeyRange, KeyValue, Page, RangeRead};

const GET: &str = "SELECT value FROM entries WHERE key = ?1";
const SCAN: &str = "SELECT key, value FROM entries WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
const SCAN_BACK: &str = "SELECT key, value FROM entries WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";
/// Changes nothing where the value of the key is a row of `large`.
const PUT: &str = "INSERT INTO entries (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE typeof(entries.value) <> 'integer'";
const REPLACE: &str = "UPDATE entries SET value = ?2 WHERE key = ?1";
const SWAP: &str = "UPDATE entries SET value = ?3 WHERE key = ?1 AND value = ?2";
const GET_LARGE: &str = "SELECT value FROM large WHERE id = ?1";
const PUT_LARGE: &str = "INSERT INTO large (value) VALUES (?1)";
const REMOVE_LARGE: &str = "DELETE FROM large WHERE id IN
    (SELECT value FROM entries WHERE key = ?1 AND typeof(value) = 'integer')";
const REMOVE_LARGE_RANGE: &str = "DELETE FROM large WHERE id IN
    (SELECT value FROM entries WHERE key >= ?1 AND key < ?2 AND typeof(value) = 'integer')";
const REMOVE: &str = "DELETE FROM entries WHERE key = ?1";
const REMOVE_RANGE: &str = "DELETE FROM entries WHERE key >= ?1 AND key < ?2";

/// The tables. A value in `entries` is the bytes themselves, or the number of a row of `large`.
///
/// Rows of `entries` must fit on a page: SQLite reads a row that does not in full whenever it passes it on the way to
/// another. Large values are appended one after another, so that a group fills few pages however many keys it has. No
/// trigger removes them: SQLite would be ready to undo every statement by itself, and copy each page before it changes it.
pub(super) const SCHEMA: &str = "
    CREATE TABLE entries (key BLOB PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE large (id INTEGER PRIMARY KEY, value BLOB NOT NULL);
";

/// As many statements as there are here, and some.
const STATEMENTS: usize = 32;
/// Most bytes of a value that is stored with its key.
const SMALL: usize = 512;
/// Most bytes of a key and a value that are stored together. A page of 4 KiB holds rows of up to 1,002 bytes in full.
const SMALL_ROW: usize = 900;

/// The state of the write-ahead log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wal {
    /// Pages in it.
    pub(super) frames: u32,
    /// How many of them are in the main file too.
    pub(super) copied: u32,
}

impl Wal {
    pub(super) fn left(self) -> u32 {
        self.frames.saturating_sub(self.copied)
    }
}

/// The entries as one connection sees them.
pub(super) struct Table {
    connection: Connection,
    doubt: Doubt,
}

impl Drop for Table {
    fn drop(&mut self) {
        // The last connection to a store would copy the log, and remove it.
        if self.doubt.is_raised()
            && let Err(error) = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        {
            tracing::error!(%error, "the write-ahead log may be removed");
        }
    }
}

impl Table {
    pub(super) fn new(connection: Connection, doubt: Doubt) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Self { connection, doubt }
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

    /// Commits. A failed sync raises doubt.
    pub(super) fn commit(&self) -> rusqlite::Result<()> {
        self.run("COMMIT").inspect_err(|error| self.doubt_after(error))
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

    /// The length of the write-ahead log.
    pub(super) fn wal_frames(&self) -> rusqlite::Result<u32> {
        self.wal(CheckpointMode::NOOP).map(|wal| wal.frames)
    }

    /// Copies as much of the write-ahead log into the main file as it can without waiting for anybody. `None` if somebody
    /// else, perhaps another process, is at it, or it must not be done any more. A failed sync raises doubt.
    pub(super) fn checkpoint(&self) -> rusqlite::Result<Option<Wal>> {
        self.copy(CheckpointMode::PASSIVE)
    }

    /// The same, and has whoever writes next start the log anew. Keeps all others from writing meanwhile, and waits for them
    /// and for snapshots as the connection does.
    pub(super) fn restart_log(&self) -> rusqlite::Result<Option<Wal>> {
        self.copy(CheckpointMode::RESTART)
    }

    fn copy(&self, mode: CheckpointMode) -> rusqlite::Result<Option<Wal>> {
        if self.doubt.is_raised() {
            return Ok(None);
        }
        match self.wal(mode) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            copied => copied.map(Some).inspect_err(|error| self.doubt_after(error)),
        }
    }

    fn doubt_after(&self, error: &rusqlite::Error) {
        if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC) {
            self.doubt.raise();
        }
    }

    fn wal(&self, mode: CheckpointMode) -> rusqlite::Result<Wal> {
        let (frames, copied) = self.connection.wal_checkpoint_v2(Some(MAIN_DB), mode)?;
        // -1 stands for no log.
        let count = |frames: i32| u32::try_from(frames).unwrap_or(0);
        Ok(Wal { frames: count(frames), copied: count(copied) })
    }

    /// The value that `column` of a row of `entries` holds or names.
    fn value(&self, row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
        match row.get_ref(column)? {
            ValueRef::Integer(id) => self.connection.prepare_cached(GET_LARGE)?.query_row([id], |row| blob(row, 0)),
            _ => blob(row, column),
        }
    }

    /// Writes if the key has the value that the swap replaces, and says whether it did.
    pub(super) fn swap(&mut self, swap: Swap<'_>) -> rusqlite::Result<bool> {
        let Swap { key, from, to } = swap;
        if is_large(key, from) || is_large(key, to) {
            let holds = self.get(key)?.as_ref() == Some(from);
            return if holds { self.put(key, to).map(|()| true) } else { Ok(false) };
        }
        let swapped = self.connection.prepare_cached(SWAP)?.execute(params![&key[..], &from[..], &to[..]])?;
        Ok(swapped == 1)
    }

    fn put_large(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        let id = self.connection.prepare_cached(PUT_LARGE)?.insert([value])?;
        self.put_row(key, id)
    }

    /// Puts what a row of `entries` holds: bytes, or the number of a row of `large`.
    fn put_row(&self, key: &[u8], value: impl ToSql) -> rusqlite::Result<()> {
        if self.connection.prepare_cached(PUT)?.execute(params![key, value])? == 0 {
            self.connection.prepare_cached(REMOVE_LARGE)?.execute([key])?;
            self.connection.prepare_cached(REPLACE)?.execute(params![key, value])?;
        }
        Ok(())
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }
}

impl Tree for Table {
    type Error = rusqlite::Error;

    fn get(&self, key: &[u8]) -> rusqlite::Result<Option<Bytes>> {
        self.connection.prepare_cached(GET)?.query_row([key], |row| self.value(row, 0)).optional()
    }

    fn page(&self, read: &RangeRead) -> rusqlite::Result<Page> {
        let mut statement = self.connection.prepare_cached(if read.reverse { SCAN_BACK } else { SCAN })?;
        let limit = i64::try_from(read.limit).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![&read.range.begin[..], &read.range.end[..], limit])?;
        let mut page = PageBuilder::new(read);
        while !page.is_full()
            && let Some(row) = rows.next()?
        {
            page.push(KeyValue { key: blob(row, 0)?, value: self.value(row, 1)? });
        }
        Ok(page.finish())
    }
}

impl TreeMut for Table {
    fn put(&mut self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        if is_large(key, value) {
            return self.put_large(key, value);
        }
        self.put_row(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> rusqlite::Result<()> {
        self.connection.prepare_cached(REMOVE_LARGE)?.execute([key])?;
        self.connection.prepare_cached(REMOVE)?.execute([key]).map(drop)
    }

    fn remove_range(&mut self, range: &KeyRange) -> rusqlite::Result<()> {
        self.connection.prepare_cached(REMOVE_LARGE_RANGE)?.execute([&range.begin[..], &range.end[..]])?;
        self.connection.prepare_cached(REMOVE_RANGE)?.execute([&range.begin[..], &range.end[..]]).map(drop)
    }
}

/// Whether `value` is a row of `large`.
fn is_large(key: &[u8], value: &[u8]) -> bool {
    value.len() > SMALL || key.len() + value.len() > SMALL_ROW
}

fn blob(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(Bytes::copy_from_slice(bytes)),
        other => Err(rusqlite::Error::InvalidColumnType(column, "blob".into(), other.data_type())),
    }
}
