//! The SQLite file: recognising it, creating it, and opening connections to it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use thiserror::Error;

use super::doubt::Doubt;
use super::log::Log;
use super::places::Places;
use super::table::{SCHEMA, Table};
use super::turn::Turn;
use super::untouched::open_untouched;

/// Marks a file as ours: "agss".
const APPLICATION_ID: i32 = 0x6167_7373;
/// The version of the file's tables.
const FORMAT: i32 = 1;
/// Longest wait for another process that writes.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(10);

/// How long a process sleeps between two looks at a lock.
const BUSY_POLL: Duration = Duration::from_micros(200);
const BUSY_TRIES: i32 = (BUSY_WAIT.as_micros() / BUSY_POLL.as_micros()) as i32;
/// Longest wait, at one time, of a connection that copies the log.
const COPIER_WAIT: Duration = Duration::from_millis(50);
/// Page cache of a connection that writes; negative, as SQLite wants it for KiB.
const WRITER_CACHE_KIB: i64 = -64 * 1_024;
/// Size to which the write-ahead log is cut when it starts anew. Writing over it is faster than growing it.
const WAL_KEPT_BYTES: i64 = 64 << 20;

/// Why a file cannot be opened as a store.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file belongs to something else; it was not changed.
    #[error("{path} is {found}, not a store of this program", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// The file is the journal of the reference host (journal.md §12); it was not changed.
    #[error("{path} is a journal of the reference host (version {version})", path = path.display())]
    ReferenceJournal {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i32,
    },
    /// The file was written by another version of this program; it was not changed.
    #[error("{path} has format {found}, this program reads format {FORMAT}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i32,
    },
    /// A sync of the file has failed, and some process has it open since before that.
    #[error("{path}: the disk has failed to sync this file. End whatever has it open, then start again", path = path.display())]
    InDoubt {
        /// The file.
        path: PathBuf,
    },
    /// The file, or its directory, cannot be used.
    #[error("cannot open {path}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite failed.
    #[error("cannot open {path}", path = path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

/// A file that was found to be a store.
#[derive(Clone, Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    doubt: Doubt,
}

/// What lies at the path.
enum Content {
    Nothing,
    Store,
    ReferenceJournal(i32),
    Foreign(String),
    OtherFormat(i32),
}

impl StoreFile {
    /// Makes sure that `path` is a store, and creates it where there is nothing.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let file = Self { path: path.to_path_buf(), doubt: Doubt::of(path) };
        file.check_usable().map_err(|source| OpenError::Io { path: path.to_path_buf(), source })?;
        match file.identify()? {
            Content::Store => {}
            Content::Nothing => file.create()?,
            Content::ReferenceJournal(version) => return Err(OpenError::ReferenceJournal { path: file.path, version }),
            Content::Foreign(found) => return Err(OpenError::Foreign { path: file.path, found }),
            Content::OtherFormat(found) => return Err(OpenError::Format { path: file.path, found }),
        }
        file.settle_doubt()?;
        Ok(file)
    }

    /// Refuses what SQLite would take for a journal, or try to, and be sorry later.
    fn check_usable(&self) -> io::Result<()> {
        let found = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        if !found.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if found.nlink() > 1 {
            // The write-ahead log is found by the name of the file: each name would have its own.
            return Err(io::Error::other("the file has another name beside this one (a hard link)"));
        }
        // SQLite would make files beside it that cannot be written later, either.
        OpenOptions::new().write(true).open(&self.path).map(drop)
    }

    /// Copies all of the write-ahead log anew, if a sync has failed.
    fn settle_doubt(&self) -> Result<(), OpenError> {
        if !self.doubt.is_raised() {
            return Ok(());
        }
        // Of several that are started at once one does it, and the others must not be in its way.
        let turn = self.turn().map_err(|source| self.io(source))?;
        let _next = turn.wait(BUSY_WAIT);
        let mut left = BUSY_WAIT;
        while self.doubt.is_raised() {
            match self.copy_log_alone() {
                Ok(()) => return self.doubt.settle().map_err(|source| self.io(source)),
                Err(error) if !is_busy(&error) => return Err(self.sqlite(error)),
                Err(_) if left.is_zero() => return Err(OpenError::InDoubt { path: self.path.clone() }),
                Err(_) => left = left.saturating_sub(COPIER_WAIT),
            }
        }
        Ok(())
    }

    /// A connection that excludes all others does not know what they had copied.
    fn copy_log_alone(&self) -> rusqlite::Result<()> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(COPIER_WAIT)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        sync_in_full(&connection)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE).map(drop)
    }

    /// A connection that commits durably.
    pub(super) fn writer(&self) -> rusqlite::Result<Table> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        sync_in_full(&connection)?;
        connection.pragma_update(None, "cache_size", WRITER_CACHE_KIB)?;
        // The keeper copies the log into the main file; a commit never does.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        connection.pragma_update(None, "journal_size_limit", WAL_KEPT_BYTES)?;
        Ok(Table::new(connection, self.doubt.clone()))
    }

    /// A connection that copies the write-ahead log, and keeps nobody waiting for long.
    pub(super) fn copier(&self) -> rusqlite::Result<Table> {
        let table = self.writer()?;
        table.connection().busy_timeout(COPIER_WAIT)?;
        Ok(table)
    }

    /// Where the processes that write to the store queue.
    pub(super) fn turn(&self) -> io::Result<Turn> {
        Turn::open(&self.path)
    }

    /// What commits are written to first.
    pub(super) fn log(&self) -> Log {
        Log::of(&self.path)
    }

    /// Whether the main file can be relied on.
    pub(super) fn doubt(&self) -> Doubt {
        self.doubt.clone()
    }

    /// Where its files are, all of which are there once there is a connection that has read.
    pub(super) fn places(&self) -> Result<Places, OpenError> {
        Places::of(&self.path).map_err(|source| self.io(source))
    }

    /// A connection for reads.
    pub(super) fn reader(&self) -> rusqlite::Result<Table> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(Table::new(connection, self.doubt.clone()))
    }

    fn connect(&self, mode: OpenFlags) -> rusqlite::Result<Connection> {
        let mut connection = Connection::open_with_flags(&self.path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_handler(Some(wait_for_lock))?;
        // Otherwise a statement is planned anew whenever the bounds of its range change.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }

    /// Looks without changing anything.
    fn identify(&self) -> Result<Content, OpenError> {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Nothing),
            Err(source) => return Err(self.io(source)),
            Ok(metadata) if metadata.len() == 0 => return Ok(Content::Nothing),
            Ok(_) => {}
        }
        // What belongs to others is recognised here, without so much as a side file.
        let content = open_untouched(&self.path).and_then(|connection| Identity::of(&connection));
        match content.map(|identity| identity.judge()) {
            Ok(Content::Nothing | Content::Store) | Err(_) => {}
            Ok(others) => return Ok(others),
        }
        // That look took no locks: another process may be creating the store, or beginning to write.
        let identity = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|connection| Identity::of(&connection));
        match identity {
            Ok(identity) => Ok(identity.judge()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                Ok(Content::Foreign("no SQLite file".into()))
            }
            Err(source) => Err(self.sqlite(source)),
        }
    }

    fn create(&self) -> Result<(), OpenError> {
        // Readable by the owner only: SQLite gives its side files the same mode.
        let created = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&self.path);
        created.map_err(|source| self.io(source))?;
        self.create_tables().map_err(|source| self.sqlite(source))
    }

    fn create_tables(&self) -> rusqlite::Result<()> {
        let table = self.writer()?;
        let connection = table.connection();
        use_log(connection)?;
        table.begin_write()?;
        // Another process may have been faster.
        if Identity::of(connection)?.is_blank() {
            connection.execute_batch(SCHEMA)?;
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", FORMAT)?;
        }
        table.commit()
    }

    pub(super) fn io(&self, source: io::Error) -> OpenError {
        OpenError::Io { path: self.path.clone(), source }
    }

    pub(super) fn sqlite(&self, source: rusqlite::Error) -> OpenError {
        OpenError::Sqlite { path: self.path.clone(), source }
    }
}

/// The first is the promise of this store: a commit is on disk before it is answered. The others say the same to systems
/// whose plain fsync does not reach the disk.
fn sync_in_full(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Has a new file use a write-ahead log. Beside somebody who looks into the file, or does the same, SQLite gives up at once
/// and asks no busy handler.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && wait_for_lock(tries) => tries += 1,
            done => return done,
        }
    }
}

/// Waits before SQLite tries a lock again, which it has done `tries` times. Returns whether to go on.
///
/// A group is written in well under a millisecond, so this looks more often than SQLite's own handler.
fn wait_for_lock(tries: i32) -> bool {
    let go_on = tries < BUSY_TRIES;
    if go_on {
        thread::sleep(BUSY_POLL);
    }
    go_on
}

/// By what an SQLite file is recognised.
struct Identity {
    application_id: i32,
    user_version: i32,
    tables: Vec<String>,
}

impl Identity {
    /// As of one moment: somebody may be creating the store.
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        connection.execute_batch("SAVEPOINT identity")?;
        let identity = Self::read(connection);
        connection.execute_batch("RELEASE identity")?;
        identity
    }

    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
        Ok(Self {
            application_id: connection.pragma_query_value(None, "application_id", |row| row.get(0))?,
            user_version: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
            tables: names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?,
        })
    }

    fn is_blank(&self) -> bool {
        self.application_id == 0 && self.tables.is_empty()
    }

    fn judge(&self) -> Content {
        match (self.application_id, self.user_version) {
            _ if self.is_blank() => Content::Nothing,
            (APPLICATION_ID, FORMAT) => Content::Store,
            (APPLICATION_ID, other) => Content::OtherFormat(other),
            (_, version) if self.has("sessions") && self.has("events") => Content::ReferenceJournal(version),
            _ => Content::Foreign(self.describe()),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table == name)
    }

    fn describe(&self) -> String {
        format!(
            "an SQLite database of another program (application id {}, version {}, tables: {})",
            self.application_id,
            self.user_version,
            self.tables.join(", ")
        )
    }
}
