//! Opening a file and recognising it.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, ErrorCode};
use store::embedded::open_untouched;

use crate::OpenError;

/// The newest version whose tables are known.
const NEWEST: i64 = 2;

/// A table, and the columns that a file of version 2 has in it. Older versions may lack those after the first
/// `always`.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
    always: usize,
}

pub(crate) const SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        "session",
        "fence",
        "project",
        "name",
        "harness",
        "model",
        "parent_uid",
        "fork_seq",
        "compute_state",
        "created_at",
        "updated_at",
        "labels",
        "annotations",
        "origin",
        "identity",
    ],
    always: 2,
};

pub(crate) const EVENTS: Table =
    Table { name: "events", columns: &["session", "seq", "prev_hash", "hash", "fence", "event"], always: 6 };

pub(crate) const HARNESSES: Table = Table {
    name: "harnesses",
    columns: &[
        "name",
        "uid",
        "spec",
        "spec_digest",
        "state",
        "retire_reason",
        "retired_at",
        "created_at",
        "updated_at",
    ],
    always: 0,
};

pub(crate) const RESERVED: Table =
    Table { name: "reserved_harness_names", columns: &["name", "reserved_at"], always: 0 };

/// A journal of the reference host, as of the moment at which it was opened. It is read, and never changed.
pub struct ReferenceFile {
    pub(crate) connection: Connection,
    version: i64,
    /// The columns of the sessions table, with `NULL` for those that it lacks.
    pub(crate) session_columns: String,
}

impl ReferenceFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::read(open_untouched(path)?).map_err(|error| match error {
            OpenError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                OpenError::Foreign("no SQLite file")
            }
            error => error,
        })
    }

    fn read(connection: Connection) -> Result<Self, OpenError> {
        // A file that is shorter than it says is read as far as it goes, so that what is missing can be named. And the
        // first read fixes what all others see, whoever writes to the file meanwhile.
        connection.execute_batch("PRAGMA writable_schema = ON; BEGIN")?;
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let columns = |table: &Table| columns(&connection, table.name);
        let sessions = columns(&SESSIONS)?;
        if sessions.is_empty() || columns(&EVENTS)?.is_empty() {
            return Err(OpenError::Foreign("another SQLite database"));
        }
        if !(0..=NEWEST).contains(&version) {
            return Err(OpenError::Version { found: version, newest: NEWEST });
        }
        for table in [SESSIONS, EVENTS, HARNESSES, RESERVED] {
            let needed = if version == NEWEST { table.columns } else { &table.columns[..table.always] };
            let found = columns(&table)?;
            if let Some(missing) = needed.iter().find(|column| !found.contains(**column)) {
                return Err(OpenError::Lacks(format!("{}.{missing}", table.name)));
            }
        }
        let or_null = |column: &&'static str| if sessions.contains(*column) { *column } else { "NULL" };
        let session_columns = SESSIONS.columns.iter().map(or_null).collect::<Vec<_>>().join(", ");
        Ok(Self { connection, version, session_columns })
    }

    /// Whether it was written before harnesses could be registered, and names reserved.
    pub(crate) fn is_older(&self) -> bool {
        self.version < NEWEST
    }

    /// How many records it has, if that can be told without reading them.
    #[must_use]
    pub fn records(&self) -> Option<u64> {
        self.count(&EVENTS).ok()
    }

    pub(crate) fn count(&self, table: &Table) -> rusqlite::Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        self.connection.query_row(&sql, [], |row| row.get(0)).map(i64::unsigned_abs)
    }
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}
